//! `pi sessions`: lists, searches, shows, exports, forks, renames and removes sessions.

mod fork;
mod list;
mod prune;
mod remove;
mod rename;
mod search;
mod show;

use std::path::{Path, PathBuf};

use pi_host::export::{ExportError, Format, default_name, to_file};
use pi_host::sessions::{FindError, RemoveError, SessionStore};
use pi_session::{SessionError, SessionInfo};

use super::export::{redacted, to_stdout};
use super::{CommandResult, Failure, plain, project, success};
use crate::exit::{note, print};
use crate::flags::parse::CommandArgs;
use crate::hints::{FIND_SESSIONS, ID_OF_NAME, LONGER_ID};

pub(super) use fork::fork;
pub(super) use list::list;
pub(super) use prune::prune;
pub(super) use remove::remove;
pub(super) use rename::rename;
pub(super) use search::search;
pub(super) use show::show;

impl From<FindError> for Failure {
    fn from(error: FindError) -> Self {
        let hint = match &error {
            FindError::Ambiguous { is_name: true, .. } => ID_OF_NAME,
            FindError::Ambiguous { .. } => LONGER_ID,
            _ => FIND_SESSIONS,
        };
        Self::failed(error.to_string()).hint(hint)
    }
}

impl From<RemoveError> for Failure {
    fn from(error: RemoveError) -> Self {
        match error {
            RemoveError::Session(error) => error.into(),
            error => Self::failed(error.to_string()),
        }
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        let message = error.to_string();
        match error {
            ExportError::Session(error) => error.into(),
            ExportError::Exists(_) => Self::failed(format!("{message}, or add --force")),
            ExportError::UnknownFormat(_) => Self::usage(message).hint(
                "choose the format of other files with --format: html, markdown, jsonl or atif",
            ),
            _ => Self::failed(message),
        }
    }
}

/// Opens the sessions of the user without reading any.
pub(super) fn open(args: &CommandArgs) -> Result<SessionStore, Failure> {
    Ok(SessionStore::open(project::open(args)?, args.value("session-dir")))
}

/// Lists the sessions, newest first. Unreadable files are reported on stderr.
pub(super) fn list_readable(store: &mut SessionStore, all: bool) -> Vec<SessionInfo> {
    let listing = store.list(all);
    report_unreadable(&listing.problems);
    listing.sessions
}

fn report_unreadable(problems: &[SessionError]) {
    problems.iter().for_each(|problem| note(&format!("skipped: {problem}")));
}

/// Runs `pi sessions export SESSION [FILE]`.
pub(super) fn export(args: &CommandArgs) -> CommandResult {
    let mut store = open(args)?;
    let source = store.find(args.word(0).unwrap_or_default())?;
    let target = args.word(1);
    let format = match args.value("format").and_then(Format::named) {
        Some(format) => format,
        None => Format::of_file(Path::new(target.unwrap_or_default()))?,
    };
    let mut session = pi_host::export::open(&source)?;
    if !args.has("unmasked") {
        session = redacted(session)?;
    }
    if target == Some("-") {
        return to_stdout(&mut session, format);
    }
    let target = target.map_or_else(|| default_name(&source, format), PathBuf::from);
    let environment = store.project.environment();
    let path = environment.expand(&target.to_string_lossy(), &environment.cwd);
    to_file(&mut session, format, &path, args.has("force"))?;
    Ok(print(&format!("{}\n", target.display())))
}
