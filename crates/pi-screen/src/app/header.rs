//! The top of the transcript: logo, version, key hints, what was loaded, what went wrong.

mod changelog;
mod hints;
mod logo;
mod notices;
mod resources;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::path::PathBuf;
use std::rc::Rc;

use pi_coding_agent::session::{AgentSession, SessionEvent};
use pi_config::SettingsScope;
use pi_tui::input::Keymap;
use pi_tui::{Block, Line, LineCache, Lines, Style, Token, View, text};

pub(crate) use changelog::entries as changelog;

use crate::app::App;
use crate::app::shortcuts;
use crate::preferences::QuietStartup;

/// Content of the header besides the state of the session.
pub(crate) struct Start {
    is_expanded: Rc<Cell<bool>>,
    /// Problems and omissions.
    problems: Vec<SessionEvent>,
    /// The part of the changelog that is new to the user.
    news: Option<changelog::News>,
    home: Option<PathBuf>,
    has_wordmark: bool,
    /// Everything is shown; the settings do not count.
    is_verbose: bool,
}

impl Start {
    /// Creates the header of a program that has just started. `has_wordmark` is for terminals that
    /// leave gaps between the cells of a logo.
    pub(crate) fn new(problems: Vec<SessionEvent>, home: Option<PathBuf>, wordmark: bool) -> Self {
        Self {
            is_expanded: Rc::default(),
            problems,
            news: None,
            home,
            has_wordmark: wordmark,
            is_verbose: false,
        }
    }

    /// Shows everything; the settings do not count.
    pub(crate) fn be_verbose(&mut self) {
        self.is_verbose = true;
        self.is_expanded.set(true);
    }

    /// Shows all keys and the paths of what was loaded, or the short form.
    pub(crate) fn set_expanded(&mut self, is_expanded: bool) {
        self.is_expanded.set(is_expanded);
    }

    /// Replaces the problems, after a reload.
    pub(crate) fn set_problems(&mut self, problems: Vec<SessionEvent>) {
        self.problems = problems;
    }
}

/// Returns the blocks before the first message.
pub(crate) fn blocks(app: &App) -> Vec<Box<dyn Block>> {
    let start = &app.start;
    let quiet = match start.is_verbose {
        true => QuietStartup::All(false),
        false => app.preferences.quiet_startup,
    };
    let mut blocks: Vec<Box<dyn Block>> = Vec::new();
    if let Some(header) = &app.mounts.header {
        blocks.push(Box::new(Rc::clone(header)));
    } else if quiet != QuietStartup::All(true) {
        let scope =
            (quiet == QuietStartup::All(false)).then(|| scope(&app.session, &app.keymap)).flatten();
        blocks.push(Box::new(Header {
            scope,
            hints: hints::short(&app.keymap),
            all_hints: hints::all(&app.keymap),
            expand_key: app.keymap.label("app.tools.expand"),
            has_wordmark: start.has_wordmark,
            guard: guard_status(&app.session),
            cache: Expandable::new(&start.is_expanded),
        }));
    }
    if quiet == QuietStartup::All(false) {
        let loaded = resources::loaded(&app.session, start.home.as_deref());
        if !loaded.is_empty() {
            blocks.push(Box::new(resources::Loaded::new(loaded, &start.is_expanded)));
        }
    }
    let issues = shortcuts::issues(app.session.extensions().registry(), &app.keymap);
    let warnings = notices::warnings(&start.problems, &issues, start.home.as_deref());
    if !warnings.is_empty() {
        blocks.push(Box::new(warnings));
    }
    if let Some(news) = &start.news
        && quiet != QuietStartup::All(true)
    {
        blocks.push(news.block());
    }
    blocks
}

/// Shows what changed since the version that the user saw last, and notes this one as seen. A session
/// that continues is not interrupted by news.
pub(crate) fn welcome(app: &mut App) {
    let current = env!("CARGO_PKG_VERSION");
    let seen = app.preferences.last_changelog_version.clone();
    if seen.as_deref() == Some(current) {
        return;
    }
    if app.session.message_count() == 0 {
        app.start.news = changelog::news(seen.as_deref(), app.preferences.collapse_changelog);
    }
    // A file that cannot be written means only that the news come again.
    let _ = app.settings.update(SettingsScope::User, |changes| {
        changes.set(&["lastChangelogVersion"], current);
    });
}

/// Shows the problems that are about nothing that the header lists.
pub(crate) fn show_problems(app: &mut App) {
    for (kind, text, hint) in notices::others(&app.start.problems) {
        app.transcript.notice(kind, text, hint);
    }
    if let Some(text) = notices::earlier_crash(&app.environment.agent_directory) {
        app.status(text);
    }
}

/// Returns the line about the models that the user cycles through.
fn scope(session: &AgentSession, keymap: &Keymap) -> Option<String> {
    let models = session.scoped_models();
    if models.is_empty() {
        return None;
    }
    let names = models.iter().map(|scoped| match scoped.thinking_level {
        Some(level) => format!("{}:{}", scoped.model.id, level.as_str()),
        None => scoped.model.id.clone(),
    });
    let names: Vec<String> = names.collect();
    let key = keymap.label("app.model.cycleForward");
    Some(format!("Model scope: {} ({key} to cycle)", names.join(", ")))
}

/// Lines that look different when everything is shown.
pub(crate) struct Expandable {
    is_expanded: Rc<Cell<bool>>,
    rendered: bool,
    cache: LineCache,
}

impl Expandable {
    pub(crate) fn new(is_expanded: &Rc<Cell<bool>>) -> Self {
        Self {
            is_expanded: Rc::clone(is_expanded),
            rendered: is_expanded.get(),
            cache: LineCache::default(),
        }
    }

    pub(crate) fn get(&mut self, view: View<'_>, render: impl FnOnce(bool) -> Vec<Line>) -> Lines {
        let is_expanded = self.is_expanded.get();
        if self.rendered != is_expanded {
            self.cache.clear();
            self.rendered = is_expanded;
        }
        self.cache.get(view, || render(is_expanded))
    }
}

struct Header {
    scope: Option<String>,
    hints: Vec<hints::Hint>,
    all_hints: Vec<hints::Hint>,
    expand_key: String,
    has_wordmark: bool,
    guard: Option<String>,
    cache: Expandable,
}

impl Block for Header {
    fn render(&mut self, view: View<'_>) -> Lines {
        let Self { scope, hints, all_hints, expand_key, has_wordmark, guard, cache } = self;
        cache.get(view, |is_expanded| {
            let (dim, muted) = (view.theme.fg(Token::Dim), view.theme.fg(Token::Muted));
            let [mut top, mut bottom] = logo::rows(*has_wordmark, view.theme);
            top.push(format!("v{}", env!("CARGO_PKG_VERSION")), dim);
            let mut lines = Vec::new();
            if let Some(scope) = scope {
                lines.extend(wrapped(&Line::styled(scope.as_str(), dim), view.width, 0));
            }
            lines.push(Line::new());
            lines.extend(wrapped(&top, view.width, 1));
            if is_expanded {
                lines.extend(wrapped(&bottom, view.width, 1));
                for hint in all_hints.iter() {
                    lines.extend(wrapped(&hint.line(dim, muted), view.width, 1));
                }
            } else {
                bottom.append(&hints::joined(hints, dim, muted));
                lines.extend(wrapped(&bottom, view.width, 1));
                let more = format!("{expand_key} shows all keys and what was loaded.");
                lines.extend(wrapped(&Line::styled(more, dim), view.width, 1));
            }
            lines.push(Line::new());
            let help = "/help shows commands, keys and topics; /hotkeys lists every key.";
            lines.extend(wrapped(&Line::styled(help, dim), view.width, 1));
            if let Some(guard) = guard {
                lines.extend(wrapped(&Line::styled(guard.as_str(), dim), view.width, 1));
            }
            lines.push(Line::new());
            lines
        })
    }
}

/// Wraps a line and indents all of its rows.
pub(crate) fn wrapped(line: &Line, width: usize, indent: usize) -> Vec<Line> {
    let indent = indent.min(width / 8);
    let rows = text::wrap(line, width.saturating_sub(2 * indent).max(1));
    rows.iter().map(|row| row.indented(indent, Style::PLAIN)).collect()
}

/// Returns the line about the guard, if it restricts something.
fn guard_status(session: &AgentSession) -> Option<String> {
    let status = session.guard()?.status()?;
    let sandbox = status.describe_sandbox();
    let mut text = format!("Profile {}, {sandbox}.", status.profile.as_str());
    for limit in &status.limits {
        text.push_str(&format!(" {limit}"));
    }
    Some(text)
}
