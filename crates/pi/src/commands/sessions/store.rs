//! The sessions of the user, and the resolution of session references.

use std::path::{Path, PathBuf};

use pi_coding_agent::config::{SettingsStore, resolve_session_directory};
use pi_coding_agent::{Environment, by_name, session_index};
use pi_session::{ListOptions, SessionError, SessionIndex, SessionInfo};
use serde_json::{Value, json};

use super::{Failure, plain};
use crate::environment;
use crate::exit::note;
use crate::flags::parse::CommandArgs;
use crate::hints::{FIND_SESSIONS, ID_OF_NAME, LONGER_ID};

/// The sessions of the user.
pub(in crate::commands) struct Store {
    pub(in crate::commands) environment: Environment,
    /// Directory for all sessions. If `None`, each working directory has its own.
    pub(super) shared_directory: Option<PathBuf>,
    pub(super) index: SessionIndex,
}

impl Store {
    /// Opens the store without reading any session.
    pub(in crate::commands) fn open(args: &CommandArgs) -> Result<Self, Failure> {
        let environment = environment::read().map_err(Failure::failed)?;
        let shared_directory = shared_directory(&environment, args.value("session-dir"));
        let index = session_index(&environment, shared_directory.as_ref());
        Ok(Self { environment, shared_directory, index })
    }

    /// Lists the sessions, newest first. Unreadable files are reported on stderr.
    pub(in crate::commands) fn list(&mut self, all: bool) -> Vec<SessionInfo> {
        let cwd = (!all).then(|| self.environment.cwd.clone());
        let mut options = ListOptions::default();
        options.cwd = cwd;
        let listing = self.index.list(&options);
        report_unreadable(&listing.problems);
        listing.sessions
    }

    /// Returns the short ids of all sessions. They are unique among all sessions, since
    /// [`find`](Self::find) searches all of them.
    pub(in crate::commands) fn short_ids(&mut self) -> ShortIds {
        let sessions = self.index.list(&ListOptions::default()).sessions;
        ShortIds::new(sessions.into_iter().map(|session| session.id).collect())
    }

    /// Finds the file of a session by path, id, the beginning of an id, or name.
    pub(in crate::commands) fn find(&mut self, reference: &str) -> Result<PathBuf, Failure> {
        if reference.contains(['/', '\\']) || reference.ends_with(".jsonl") {
            return Ok(self.environment.expand(reference, &self.environment.cwd));
        }
        let sessions = self.index.list(&ListOptions::default()).sessions;
        choose(&sessions, reference, &self.environment.cwd).map(|info| info.path.clone())
    }

    /// Returns the directory for new sessions of the working directory.
    pub(super) fn directory(&self) -> PathBuf {
        let environment = &self.environment;
        let default =
            || pi_session::session_directory(&environment.agent_directory, &environment.cwd);
        self.shared_directory.clone().unwrap_or_else(default)
    }
}

/// Returns the directory for all sessions, if the option, the environment or the settings set one.
pub(crate) fn shared_directory(environment: &Environment, flag: Option<&str>) -> Option<PathBuf> {
    // This setting does not depend on the trust in the project.
    let settings = SettingsStore::load(environment, false);
    let place = resolve_session_directory(environment, flag, &settings);
    place.shared.then_some(place.path)
}

/// Finds a session by its exact id, else by the beginning of an id, else by name; each among those
/// of `cwd`, else among all.
fn choose<'a>(
    sessions: &'a [SessionInfo],
    reference: &str,
    cwd: &Path,
) -> Result<&'a SessionInfo, Failure> {
    if let Some(exact) = sessions.iter().find(|session| session.id == reference) {
        return Ok(exact);
    }
    let begins =
        |session: &&SessionInfo| !reference.is_empty() && session.id.starts_with(reference);
    let all: Vec<&SessionInfo> = sessions.iter().filter(begins).collect();
    let here: Vec<&SessionInfo> =
        all.iter().copied().filter(|session| Path::new(&session.cwd) == cwd).collect();
    let mut candidates = if here.is_empty() { all } else { here };
    let is_name = candidates.is_empty();
    if is_name {
        candidates = by_name(sessions, reference, cwd);
    }
    match candidates.as_slice() {
        [one] => Ok(one),
        [] => {
            Err(Failure::failed(format!("No session found matching '{reference}'"))
                .hint(FIND_SESSIONS))
        }
        several => {
            let lines = several
                .iter()
                .take(5)
                .map(|session| format!("\n  {} {}", session.id, title(session, 40)));
            let lines: String = lines.collect();
            let count = several.len();
            Err(Failure::failed(format!("'{reference}' matches {count} sessions:{lines}"))
                .hint(if is_name { ID_OF_NAME } else { LONGER_ID }))
        }
    }
}

/// Reports unreadable files on stderr.
pub(super) fn report_unreadable(problems: &[SessionError]) {
    problems.iter().for_each(|problem| note(&format!("skipped: {problem}")));
}

/// Returns the name of a session, or its first message.
pub(in crate::commands) fn title(session: &SessionInfo, width: usize) -> String {
    plain::line(session.name.as_ref().unwrap_or(&session.first_message), width)
}

/// Returns the number of messages without system prompts.
pub(super) fn message_count(session: &SessionInfo) -> u64 {
    session.message_count - session.system_message_count
}

/// The shortest beginnings of ids that are unique.
pub(in crate::commands) struct ShortIds {
    /// All ids in order, so that the most similar ones are neighbors.
    sorted: Vec<String>,
}

impl ShortIds {
    /// Shorter ids would become ambiguous with the next session.
    const MIN: usize = 8;

    pub(in crate::commands) fn new(mut ids: Vec<String>) -> Self {
        ids.sort_unstable();
        ids.dedup();
        Self { sorted: ids }
    }

    /// Returns the beginning of `id` that no other id has.
    pub(in crate::commands) fn of(&self, id: &str) -> String {
        let at = self.sorted.partition_point(|other| other.as_str() < id);
        let before = at.checked_sub(1).and_then(|before| self.sorted.get(before));
        let after = self.sorted[at..].iter().find(|other| *other != id);
        let shared =
            |other: &String| id.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
        let longest = before.into_iter().chain(after).map(shared).max().unwrap_or(0);
        plain::id(id, (longest + 1).max(Self::MIN))
    }
}

/// Returns the JSON object of a session.
pub(super) fn to_json(session: &SessionInfo) -> Value {
    let time = |milliseconds: i64| {
        jiff::Timestamp::from_millisecond(milliseconds).ok().map(|time| format!("{time:.3}"))
    };
    json!({
        "id": session.id,
        "path": session.path,
        "cwd": session.cwd,
        "name": session.name,
        "parentSession": session.parent_session,
        "created": session.created.and_then(time),
        "modified": time(session.modified),
        "messageCount": message_count(session),
        "firstMessage": session.first_message,
        "size": session.size,
    })
}
