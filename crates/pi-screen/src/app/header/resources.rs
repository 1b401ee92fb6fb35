//! Loaded resources: context files, skills, templates.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use pi_coding_agent::session::{AgentSession, CommandSource};
use pi_tui::{Block, Line, Lines, Token, View};

use super::{Expandable, wrapped};

/// A kind of resources.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) items: Vec<Item>,
}

/// A single loaded resource.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// Text of the short form.
    pub(super) short: String,
    /// Text of the whole form.
    pub(super) long: String,
    /// Origin of the resource; resources without one are listed first.
    pub(super) scope: Option<&'static str>,
}

/// Returns what a session loaded, by kind; kinds without any are left out.
pub(super) fn loaded(session: &AgentSession, home: Option<&Path>) -> Vec<Kind> {
    let options = session.prompt_options();
    let cwd = session.workspace().cwd();
    let context = options.context_files.iter().map(|file| Item {
        short: match file.path.strip_prefix(cwd) {
            Ok(below) => below.display().to_string(),
            Err(_) => in_home(&file.path, home),
        },
        long: in_home(&file.path, home),
        scope: None,
    });
    let skills = options.skills.iter().map(|skill| Item {
        short: skill.name.clone(),
        long: in_home(&skill.path, home),
        scope: Some(scope(serde_json::to_value(&skill.source).ok().as_ref())),
    });
    let commands = session.commands();
    let of = |source: CommandSource| {
        commands.iter().filter(move |command| command.source == source).map(|command| Item {
            short: format!("/{}", command.name),
            long: format!("/{}", command.name),
            scope: Some(scope(Some(&command.source_info))),
        })
    };
    let kinds = [
        Kind { name: "Context", items: context.collect() },
        Kind { name: "Skills", items: skills.collect() },
        Kind { name: "Prompts", items: of(CommandSource::Prompt).collect() },
        Kind { name: "Extensions", items: extensions(session, home) },
    ];
    kinds.into_iter().filter(|kind| !kind.items.is_empty()).collect()
}

/// Returns the loaded extensions, without those of the program itself.
fn extensions(session: &AgentSession, home: Option<&Path>) -> Vec<Item> {
    let paths = session.extensions().registry().extension_paths();
    let project = session.workspace().cwd().join(".pi");
    let item = |path: &String| {
        let path = Path::new(path);
        let name = path.file_name().unwrap_or(path.as_os_str());
        let is_users = home.is_some_and(|home| path.starts_with(home.join(".pi")));
        let scope = match path.starts_with(&project) {
            true => "project",
            false if is_users => "user",
            false => "path",
        };
        Item {
            // A directory is known by its name, not by that of its main file.
            short: short_name(path, name.to_string_lossy().into_owned()),
            long: in_home(path, home),
            scope: Some(scope),
        }
    };
    paths.iter().filter(|path| !path.starts_with("builtin:")).map(item).collect()
}

/// Returns the name of an extension: of its directory, if the file is called `index`.
fn short_name(path: &Path, file: String) -> String {
    let is_index = path.file_stem().is_some_and(|stem| stem == "index");
    let directory = path.parent().and_then(Path::file_name).filter(|_| is_index);
    directory.map_or(file, |name| name.to_string_lossy().into_owned())
}

fn scope(source: Option<&serde_json::Value>) -> &'static str {
    match source.and_then(|source| source.get("scope")).and_then(|scope| scope.as_str()) {
        Some("project") => "project",
        Some("user") => "user",
        _ => "path",
    }
}

/// Returns a path, with `~` for the home directory.
pub(super) fn in_home(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}

/// The block of what was loaded.
pub(super) struct Loaded {
    kinds: Vec<Kind>,
    cache: Expandable,
}

impl Loaded {
    pub(super) fn new(kinds: Vec<Kind>, is_expanded: &Rc<Cell<bool>>) -> Self {
        Self { kinds, cache: Expandable::new(is_expanded) }
    }
}

impl Block for Loaded {
    fn render(&mut self, view: View<'_>) -> Lines {
        let kinds = &self.kinds;
        self.cache.get(view, |is_expanded| {
            let mut lines = vec![Line::new()];
            for kind in kinds {
                let heading = format!("[{}]", kind.name);
                lines.push(Line::styled(heading, view.theme.fg(Token::MdHeading)));
                match is_expanded {
                    true => lines.extend(whole(kind, view)),
                    false => lines.extend(short(kind, view)),
                }
                lines.push(Line::new());
            }
            lines
        })
    }
}

fn short(kind: &Kind, view: View<'_>) -> Vec<Line> {
    let names: Vec<&str> = kind.items.iter().map(|item| item.short.as_str()).collect();
    wrapped(&Line::styled(names.join(", "), view.theme.fg(Token::Dim)), view.width, 2)
}

fn whole(kind: &Kind, view: View<'_>) -> Vec<Line> {
    let (dim, accent) = (view.theme.fg(Token::Dim), view.theme.fg(Token::Accent));
    // Projects come before users: their names sort so.
    let mut scopes: BTreeMap<Option<&str>, Vec<&Item>> = BTreeMap::new();
    for item in &kind.items {
        scopes.entry(item.scope).or_default().push(item);
    }
    let order = [None, Some("project"), Some("user"), Some("path")];
    let mut lines = Vec::new();
    for scope in order {
        let Some(items) = scopes.get(&scope) else { continue };
        if let Some(scope) = scope {
            lines.extend(wrapped(&Line::styled(scope, accent), view.width, 2));
        }
        let indent = if scope.is_some() { 4 } else { 2 };
        for item in items {
            lines.extend(wrapped(&Line::styled(item.long.as_str(), dim), view.width, indent));
        }
    }
    lines
}
