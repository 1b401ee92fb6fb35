//! The sessions of the user: where they are, the resolution of references, and their removal.

mod remove;
mod short_ids;

use std::path::{Path, PathBuf};

use pi_base::text;
use pi_coding_agent::{Project, by_name, names_id, session_index};
use pi_config::resolve_session_directory;
use pi_session::{ListOptions, Listing, SessionIndex, SessionInfo};
use serde_json::{Value, json};

pub use remove::{RemoveError, remove, remove_unused_contents};
pub use short_ids::ShortIds;

/// The sessions of the user.
#[derive(Debug)]
#[non_exhaustive]
pub struct SessionStore {
    /// The project in the working directory.
    pub project: Project,
    /// Index of all sessions.
    pub index: SessionIndex,
    /// Directory for all sessions. If `None`, each working directory has its own.
    shared_directory: Option<PathBuf>,
}

/// Reasons why a reference names no session.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// No session has this id or name.
    #[error("No session found matching '{0}'")]
    NotFound(String),
    /// Several sessions match.
    #[error("'{reference}' matches {} sessions:{}", sessions.len(), listed(sessions))]
    Ambiguous {
        /// The reference.
        reference: String,
        /// The reference is a name, not the beginning of an id.
        is_name: bool,
        /// The sessions that match.
        sessions: Vec<SessionInfo>,
    },
}

/// Returns the first sessions of a list, one per line.
fn listed(sessions: &[SessionInfo]) -> String {
    let first = sessions.iter().take(5);
    first.map(|session| format!("\n  {} {}", session.id, title(session, 40))).collect()
}

impl SessionStore {
    /// Opens the store without reading any session. `directory` takes precedence over the session
    /// directory of the settings.
    pub fn open(project: Project, directory: Option<&str>) -> Self {
        let shared_directory = shared_directory(&project, directory);
        let index = session_index(project.environment(), shared_directory.as_ref());
        Self { project, index, shared_directory }
    }

    /// Lists the sessions of the working directory or of all directories, newest first.
    pub fn list(&mut self, all: bool) -> Listing {
        let mut options = ListOptions::default();
        options.cwd = (!all).then(|| self.project.environment().cwd.clone());
        self.index.list(&options)
    }

    /// Lists the sessions of the latest runs of `pi run` in the working directory.
    pub fn of_runs(&self) -> Vec<SessionInfo> {
        /// The most runs that are looked at, newest first.
        const MOST: usize = 100;
        let environment = self.project.environment();
        let runs = std::fs::read_dir(environment.agent_directory.join("runs"));
        let mut runs: Vec<PathBuf> =
            runs.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        // The id of a run begins with its time.
        runs.sort();
        let options = ListOptions::default().cwd(environment.cwd.clone());
        let sessions = runs.iter().rev().take(MOST).map(|run| run.join("sessions"));
        let listed = sessions.map(|directory| SessionIndex::new(directory, None).list(&options));
        listed.flat_map(|listing| listing.sessions).collect()
    }

    /// Returns the short ids of all sessions. They are unique among all sessions, since
    /// [`find`](Self::find) searches all of them.
    pub fn short_ids(&mut self) -> ShortIds {
        let sessions = self.index.list(&ListOptions::default()).sessions;
        ShortIds::new(sessions.into_iter().map(|session| session.id).collect())
    }

    /// Finds the file of a session by path, id, the beginning or the end of an id, or name.
    pub fn find(&mut self, reference: &str) -> Result<PathBuf, FindError> {
        let environment = self.project.environment();
        if reference.contains(['/', '\\']) || reference.ends_with(".jsonl") {
            return Ok(environment.expand(reference, &environment.cwd));
        }
        let sessions = self.index.list(&ListOptions::default()).sessions;
        choose(&sessions, reference, &environment.cwd).map(|info| info.path.clone())
    }

    /// Returns the directory for new sessions of the working directory.
    pub fn directory(&self) -> PathBuf {
        let environment = self.project.environment();
        let default =
            || pi_session::session_directory(&environment.agent_directory, &environment.cwd);
        self.shared_directory.clone().unwrap_or_else(default)
    }
}

/// Returns the directory for all sessions, if the option, the environment or the settings set one.
pub fn shared_directory(project: &Project, option: Option<&str>) -> Option<PathBuf> {
    let place = resolve_session_directory(project.environment(), option, project.store());
    place.shared.then_some(place.path)
}

/// Finds a session by its exact id, else by the beginning or the end of an id, else by name; each among those
/// of `cwd`, else among all.
fn choose<'a>(
    sessions: &'a [SessionInfo],
    reference: &str,
    cwd: &Path,
) -> Result<&'a SessionInfo, FindError> {
    if let Some(exact) = sessions.iter().find(|session| session.id == reference) {
        return Ok(exact);
    }
    let begins = |session: &&SessionInfo| names_id(reference, &session.id);
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
        [] => Err(FindError::NotFound(reference.to_owned())),
        several => Err(FindError::Ambiguous {
            reference: reference.to_owned(),
            is_name,
            sessions: several.iter().copied().cloned().collect(),
        }),
    }
}

/// Returns the name of a session, or its first message, as one line.
pub fn title(session: &SessionInfo, width: usize) -> String {
    text::line(session.name.as_ref().unwrap_or(&session.first_message), width)
}

/// Returns the number of messages without system prompts.
pub fn message_count(session: &SessionInfo) -> u64 {
    session.message_count - session.system_message_count
}

/// Returns the JSON object of a session.
pub fn to_json(session: &SessionInfo) -> Value {
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
