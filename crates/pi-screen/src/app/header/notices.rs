//! Problems that were found at the start.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pi_coding_agent::Severity;
use pi_coding_agent::extension::NotifyKind;
use pi_coding_agent::session::SessionEvent;
use pi_tui::{Block, Line, LineCache, Lines, Token, View};

use super::resources::in_home;
use super::wrapped;

/// Time for which an earlier crash is worth a line.
const RECENT: Duration = Duration::from_secs(24 * 3600);

/// The heading of problems with extensions.
const EXTENSION_ISSUES: &str = "Extension issues";

/// Problems with files that the header lists, by kind.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    kinds: Vec<(&'static str, Vec<Warning>)>,
    cache: LineCache,
}

#[derive(Debug, PartialEq, Eq)]
struct Warning {
    path: String,
    messages: Vec<String>,
}

/// Returns the heading for a problem with a file, if it has one.
fn heading(path: &Path) -> Option<&'static str> {
    let has = |name: &str| path.components().any(|part| part.as_os_str() == name);
    let is_source = path.extension().is_some_and(|one| one == "ts" || one == "js" || one == "mjs");
    if has("SKILL.md") || has("skills") {
        Some("Skill warnings")
    } else if has("prompts") {
        Some("Prompt warnings")
    } else if has("extensions") || is_source {
        Some(EXTENSION_ISSUES)
    } else if has("themes") {
        Some("Theme warnings")
    } else {
        None
    }
}

/// Returns the problems with skills, templates, extensions and themes.
pub(super) fn warnings(
    problems: &[SessionEvent],
    issues: &[(String, String)],
    home: Option<&Path>,
) -> Warnings {
    let mut warnings = Warnings::default();
    let problems = problems.iter().filter_map(|problem| match problem {
        SessionEvent::Diagnostic { path: Some(path), message, .. } => {
            Some((heading(path)?, path.as_path(), message))
        }
        _ => None,
    });
    let issues = issues.iter().map(|(path, text)| (EXTENSION_ISSUES, Path::new(path), text));
    for (heading, path, message) in problems.chain(issues) {
        let at = warnings.kinds.iter().position(|(name, _)| *name == heading);
        let at = at.unwrap_or_else(|| {
            warnings.kinds.push((heading, Vec::new()));
            warnings.kinds.len() - 1
        });
        let Some((_, files)) = warnings.kinds.get_mut(at) else { continue };
        let path = in_home(path, home);
        match files.iter_mut().find(|file| file.path == path) {
            Some(file) => file.messages.push(message.clone()),
            None => files.push(Warning { path, messages: vec![message.clone()] }),
        }
    }
    warnings
}

impl Warnings {
    pub(super) fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }
}

impl Block for Warnings {
    fn render(&mut self, view: View<'_>) -> Lines {
        let Self { kinds, cache } = self;
        cache.get(view, || {
            let warning = view.theme.fg(Token::Warning);
            let line =
                |text: &str, indent| wrapped(&Line::styled(text, warning), view.width, indent);
            let mut lines = Vec::new();
            for (heading, files) in kinds.iter() {
                lines.extend(line(&format!("[{heading}]"), 0));
                for file in files {
                    lines.extend(line(&file.path, 2));
                    for message in &file.messages {
                        lines.extend(line(message, 4));
                    }
                }
                lines.push(Line::new());
            }
            lines
        })
    }
}

/// Returns the other problems, as kind, text and advice.
pub(super) fn others(problems: &[SessionEvent]) -> Vec<(NotifyKind, String, Option<String>)> {
    let mut notices = Vec::new();
    for problem in problems {
        let SessionEvent::Diagnostic { severity, path, message, hint } = problem else { continue };
        if path.as_deref().and_then(heading).is_some() {
            continue;
        }
        let kind = match severity {
            Severity::Warning => NotifyKind::Warning,
            Severity::Error => NotifyKind::Error,
        };
        let path = path.as_ref().map(|path| format!("{}: ", path.display())).unwrap_or_default();
        notices.push((kind, format!("{path}{message}"), hint.clone()));
    }
    notices
}

/// Returns a line about a crash of the last day, if there was one.
pub(super) fn earlier_crash(agent_directory: &Path) -> Option<String> {
    let reports = std::fs::read_dir(agent_directory.join("crashes")).ok()?;
    let recent = |path: &PathBuf| {
        let time = std::fs::metadata(path).and_then(|data| data.modified()).ok();
        let age = time.and_then(|time| SystemTime::now().duration_since(time).ok());
        age.is_some_and(|age| age < RECENT)
    };
    let reports = reports.filter_map(|entry| Some(entry.ok()?.path()));
    // The names begin with the time.
    let last = reports.filter(recent).max()?;
    Some(format!("pi crashed within the last day; the report is {}", last.display()))
}
