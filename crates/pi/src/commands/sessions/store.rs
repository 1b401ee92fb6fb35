//! Where the sessions are, and which one is meant.

use std::path::{Path, PathBuf};

use pi_coding_agent::Environment;
use pi_coding_agent::config::{SettingsStore, resolve_session_directory};
use pi_session::{ListOptions, SessionError, SessionIndex, SessionInfo};
use serde_json::{Value, json};

use super::{Failure, plain};
use crate::environment;
use crate::exit::note;
use crate::flags::parse::Given;

/// The sessions of the user.
pub(in crate::commands) struct Store {
    pub(in crate::commands) environment: Environment,
    /// A directory that was chosen for sessions; otherwise each working directory has its own.
    pub(super) chosen: Option<PathBuf>,
    pub(super) index: SessionIndex,
}

impl Store {
    /// Looks nothing up yet.
    pub(in crate::commands) fn open(given: &Given) -> Result<Self, Failure> {
        let environment = environment::read().map_err(Failure::Failed)?;
        let chosen = chosen(&environment, given.value("session-dir"));
        let agent = &environment.agent_directory;
        let index = match &chosen {
            // A cache is about one directory; who chooses another pays with time.
            Some(directory) => SessionIndex::new(directory, None),
            None => SessionIndex::new(agent.join("sessions"), Some(agent.join("cache/sessions"))),
        };
        Ok(Self { environment, chosen, index })
    }

    /// The sessions, the latest first. What could not be read is said on stderr.
    pub(in crate::commands) fn list(&mut self, all: bool) -> Vec<SessionInfo> {
        let cwd = (!all).then(|| self.environment.cwd.clone());
        let listing = self.index.list(&ListOptions { cwd, limit: None });
        complain_about(&listing.problems);
        listing.sessions
    }

    /// The file of the session that is meant: a path, an id, or the beginning of one.
    pub(in crate::commands) fn find(&mut self, reference: &str) -> Result<PathBuf, Failure> {
        if reference.contains(['/', '\\']) || reference.ends_with(".jsonl") {
            return Ok(self.environment.expand(reference, &self.environment.cwd));
        }
        let sessions = self.index.list(&ListOptions::default()).sessions;
        choose(&sessions, reference, &self.environment.cwd).map(|info| info.path.clone())
    }

    /// Where new sessions of the working directory go.
    pub(super) fn directory(&self) -> PathBuf {
        let environment = &self.environment;
        let usual =
            || pi_session::session_directory(&environment.agent_directory, &environment.cwd);
        self.chosen.clone().unwrap_or_else(usual)
    }
}

/// The directory that the flag, the environment or the settings name for sessions of all projects.
pub(in crate::commands) fn chosen(
    environment: &Environment,
    flag: Option<&str>,
) -> Option<PathBuf> {
    // Whether the project is trusted does not matter for this one setting.
    let settings = SettingsStore::load(environment, false);
    let place = resolve_session_directory(environment, flag, &settings);
    place.shared.then_some(place.path)
}

/// An exact id, else a beginning among the sessions of `cwd`, else among all.
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
        [] => Err(Failure::Failed(format!(
            "No session found matching '{reference}'; see `pi sessions list --all`"
        ))),
        several => {
            let lines = several
                .iter()
                .take(5)
                .map(|session| format!("\n  {} {}", session.id, title(session, 40)));
            let lines: String = lines.collect();
            Err(Failure::Failed(format!(
                "'{reference}' may be any of {} sessions; write more of the id:{lines}",
                several.len()
            )))
        }
    }
}

/// Says what could not be read, on stderr.
pub(super) fn complain_about(problems: &[SessionError]) {
    problems.iter().for_each(|problem| note(&format!("left out: {problem}")));
}

/// What people call a session.
pub(super) fn title(session: &SessionInfo, width: usize) -> String {
    plain::line(session.name.as_ref().unwrap_or(&session.first_message), width)
}

/// How many characters of ids are shown so that each of them names one session.
pub(super) fn id_length<'a>(sessions: impl Iterator<Item = &'a SessionInfo>) -> usize {
    let mut ids: Vec<&str> = sessions.map(|session| session.id.as_str()).collect();
    ids.sort_unstable();
    let shared =
        |pair: &[&str]| pair[0].chars().zip(pair[1].chars()).take_while(|(a, b)| a == b).count();
    ids.windows(2).map(|pair| shared(pair) + 1).max().unwrap_or(0).max(8)
}

/// A session, for programs.
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
