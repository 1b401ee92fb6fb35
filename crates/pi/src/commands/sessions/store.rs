//! The sessions of the user, and the resolution of session references.

use std::path::{Path, PathBuf};

use pi_coding_agent::Environment;
use pi_coding_agent::config::{SettingsStore, resolve_session_directory};
use pi_session::{ListOptions, SessionError, SessionIndex, SessionInfo};
use serde_json::{Value, json};

use super::{Failure, plain};
use crate::environment;
use crate::exit::note;
use crate::flags::parse::CommandArgs;
use crate::hints::{FIND_SESSIONS, LONGER_ID};

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
        let agent = &environment.agent_directory;
        let index = match &shared_directory {
            // The cache covers the default directory only; others are read every time.
            Some(directory) => SessionIndex::new(directory, None),
            None => SessionIndex::new(agent.join("sessions"), Some(agent.join("cache/sessions"))),
        };
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

    /// Finds the file of a session by path, id, or the beginning of an id.
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
pub(in crate::commands) fn shared_directory(
    environment: &Environment,
    flag: Option<&str>,
) -> Option<PathBuf> {
    // This setting does not depend on the trust in the project.
    let settings = SettingsStore::load(environment, false);
    let place = resolve_session_directory(environment, flag, &settings);
    place.shared.then_some(place.path)
}

/// Finds a session by its exact id, else by a prefix among those of `cwd`, else among all.
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
    let candidates = if here.is_empty() { all } else { here };
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
                .hint(LONGER_ID))
        }
    }
}

/// Reports unreadable files on stderr.
pub(super) fn report_unreadable(problems: &[SessionError]) {
    problems.iter().for_each(|problem| note(&format!("skipped: {problem}")));
}

/// Returns the name of a session, or its first message.
pub(super) fn title(session: &SessionInfo, width: usize) -> String {
    plain::line(session.name.as_ref().unwrap_or(&session.first_message), width)
}

/// Returns the shortest length at which the ids are unique.
pub(super) fn id_length<'a>(sessions: impl Iterator<Item = &'a SessionInfo>) -> usize {
    let mut ids: Vec<&str> = sessions.map(|session| session.id.as_str()).collect();
    ids.sort_unstable();
    let shared =
        |pair: &[&str]| pair[0].chars().zip(pair[1].chars()).take_while(|(a, b)| a == b).count();
    ids.windows(2).map(|pair| shared(pair) + 1).max().unwrap_or(0).max(8)
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
        "messageCount": session.message_count,
        "firstMessage": session.first_message,
        "size": session.size,
    })
}
