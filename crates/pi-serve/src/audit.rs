//! The record of who did what: one line of JSON for each action that changes something, was refused,
//! or signed a browser in.
//!
//! It has names of tokens, addresses of peers, methods and ids. It never has tokens, prompts or other
//! texts of users. A log that cannot be written is reported once and stops no request.

use std::io::Write as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use jiff::Timestamp;
use pi_base::lock;
use serde::Serialize;

/// Size at which the log is set aside; the one set aside before is removed.
const LARGEST: u64 = 16 << 20;

/// What became of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum AuditOutcome {
    /// The action was done.
    Done,
    /// The sender may not do it.
    Refused,
    /// The action failed.
    Failed,
}

/// An action, for the log.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AuditRecord<'a> {
    /// Name of the token; `None` if the request had none that is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub who: Option<&'a str>,
    /// Address of the peer.
    pub peer: IpAddr,
    /// Method and path, or command of the protocol.
    pub action: &'a str,
    /// Session to which the action applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<&'a str>,
    /// What became of it.
    pub outcome: AuditOutcome,
    /// Reason of a refusal or failure, as a code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
}

impl<'a> AuditRecord<'a> {
    /// Creates a record of an action that was done.
    pub fn new(who: Option<&'a str>, peer: IpAddr, action: &'a str) -> Self {
        Self { who, peer, action, session: None, outcome: AuditOutcome::Done, reason: None }
    }

    /// Sets the session.
    #[must_use]
    pub fn session(mut self, session: Option<&'a str>) -> Self {
        self.session = session;
        self
    }

    /// Makes it a record of a refusal or failure.
    #[must_use]
    pub fn outcome(mut self, outcome: AuditOutcome, reason: &'a str) -> Self {
        (self.outcome, self.reason) = (outcome, Some(reason));
        self
    }
}

/// The audit log of a server.
#[derive(Debug)]
pub struct Audit {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    file: Option<std::fs::File>,
    problem: Option<String>,
}

#[derive(Serialize)]
struct Line<'a> {
    time: String,
    #[serde(flatten)]
    record: &'a AuditRecord<'a>,
}

impl Audit {
    /// Creates the log of a directory. The file is created with the first record.
    pub fn new(directory: &Path) -> Self {
        Self { path: directory.join("audit.jsonl"), state: Mutex::default() }
    }

    /// Adds a record.
    pub fn record(&self, record: &AuditRecord<'_>) {
        let line = Line { time: format!("{:.3}", Timestamp::now()), record };
        let Ok(mut text) = serde_json::to_vec(&line) else { return };
        text.push(b'\n');
        let mut state = lock(&self.state);
        if let Err(error) = self.append(&mut state, &text) {
            state.file = None;
            state.problem = Some(format!("cannot write {}: {error}", self.path.display()));
        }
    }

    /// Takes the problem of the log, for the program to report.
    pub fn take_problem(&self) -> Option<String> {
        lock(&self.state).problem.take()
    }

    fn append(&self, state: &mut State, text: &[u8]) -> std::io::Result<()> {
        let length = std::fs::metadata(&self.path).map(|metadata| metadata.len());
        match length {
            Ok(length) if length >= LARGEST => {
                state.file = None;
                std::fs::rename(&self.path, self.path.with_extension("1.jsonl"))?;
            }
            Ok(_) => {}
            // Removed or moved by the user.
            Err(_) => state.file = None,
        }
        let file = match &mut state.file {
            Some(file) => file,
            none => {
                if let Some(directory) = self.path.parent() {
                    pi_fs::create_private(directory)?;
                }
                let opened = pi_fs::private_file().create(true).append(true).open(&self.path)?;
                none.insert(opened)
            }
        };
        file.write_all(text)
    }
}
