//! The journal of a run: what is about to happen, and what has happened.
//!
//! A line that announces a tool call is on disk before the call is executed. A call that was
//! announced and has no result may have had its effects, so that it is never executed again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex};

use pi_agent::Spent;
use pi_base::lock;
use pi_coding_agent::guard::AnnounceCall;
use pi_fs::if_exists;
use pi_protocol::{ToolResultMessage, now_ms};
use serde::{Deserialize, Serialize};

use super::{DirectoryError, RunDirectory};
use crate::outcome::Outcome;

const NAME: &str = "journal.jsonl";

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(crate) enum JournalEntry {
    /// A process begins or continues the run.
    Process { id: u32 },
    /// The model has answered; calls with the ids of earlier ones are new calls from here on.
    Answer { session: String, spent: Spent },
    /// A tool call is about to be executed.
    Call { session: String, id: String, tool: String },
    /// A tool call waits for approval, possibly after it was announced: a sub-agent waits.
    Suspend { session: String, id: String },
    /// A tool call has ended.
    Result { session: String, result: Arc<ToolResultMessage> },
    /// The run has ended.
    End { outcome: Outcome },
}

/// A line with its time in milliseconds since the epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Line {
    time: f64,
    #[serde(flatten)]
    entry: JournalEntry,
}

/// The progress of a tool call, as the journal has it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CallState {
    /// The call was not executed.
    NotStarted,
    /// The execution began, and no result was recorded.
    Started {
        /// Time in milliseconds since the epoch.
        at: f64,
    },
    /// The result, which may not be in the session log.
    Ended(Arc<ToolResultMessage>),
}

/// The journal of a run.
#[derive(Debug)]
pub(crate) struct Journal {
    file: Mutex<File>,
    /// The first line that could not be written.
    failure: Mutex<Option<String>>,
}

impl Journal {
    /// Opens the journal of a run for appending.
    pub(crate) fn open(directory: &RunDirectory) -> Result<Self, DirectoryError> {
        let path = directory.path().join(NAME);
        let open = || -> io::Result<File> {
            let mut options = OpenOptions::new();
            options.create(true).read(true).append(true);
            let mut file = options.open(&path)?;
            if ends_torn(&mut file)? {
                file.write_all(b"\n")?;
            }
            Ok(file)
        };
        let file = open().map_err(DirectoryError::io("open", &path))?;
        Ok(Self { file: Mutex::new(file), failure: Mutex::default() })
    }

    /// Appends a line. Calls are on disk when this returns.
    pub(crate) fn append(&self, entry: JournalEntry) -> io::Result<()> {
        let is_call = matches!(entry, JournalEntry::Call { .. });
        let mut line = serde_json::to_vec(&Line { time: now_ms(), entry })?;
        line.push(b'\n');
        let mut file = lock(&self.file);
        file.write_all(&line)?;
        if is_call {
            file.sync_data()?;
        }
        Ok(())
    }

    /// Appends a line that follows an event. A failure is reported at the end of the run.
    pub(crate) fn record(&self, entry: JournalEntry) {
        if let Err(error) = self.append(entry) {
            let mut failure = lock(&self.failure);
            failure.get_or_insert_with(|| format!("the journal could not be written: {error}"));
        }
    }

    /// Returns the first failure of [`Journal::record`].
    pub(crate) fn failure(&self) -> Option<String> {
        lock(&self.failure).clone()
    }

    /// Returns the function that announces the calls of a session.
    pub(crate) fn announce(self: &Arc<Self>, session: &str) -> AnnounceCall {
        let (journal, session) = (Arc::clone(self), session.to_owned());
        Arc::new(move |call| {
            let (session, id, tool) = (session.clone(), call.id.to_owned(), call.tool.to_owned());
            journal.append(JournalEntry::Call { session, id, tool })
        })
    }
}

/// The journal of an earlier process.
#[derive(Debug, Default)]
pub(crate) struct Recorded(Vec<Line>);

impl Recorded {
    /// Reads the journal of a run. A torn line announced nothing that happened.
    pub(crate) fn read(directory: &Path) -> Result<Self, DirectoryError> {
        let path = directory.join(NAME);
        let text = if_exists(fs::read(&path)).map_err(DirectoryError::io("read", &path))?;
        let text = text.unwrap_or_default();
        let lines = text.split(|byte| *byte == b'\n');
        Ok(Self(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()))
    }

    /// Returns the progress of a call of the last answer of a session.
    pub(crate) fn call(&self, session: &str, call_id: &str) -> CallState {
        let mut state = CallState::NotStarted;
        for Line { time, entry } in self.since_answer(session) {
            match entry {
                JournalEntry::Call { session: of, id, .. } if of == session && id == call_id => {
                    state = CallState::Started { at: *time };
                }
                JournalEntry::Suspend { session: of, id } if of == session && id == call_id => {
                    state = CallState::NotStarted;
                }
                JournalEntry::Result { session: of, result }
                    if of == session && result.tool_call_id == call_id =>
                {
                    state = CallState::Ended(Arc::clone(result));
                }
                _ => {}
            }
        }
        state
    }

    fn since_answer(&self, session: &str) -> &[Line] {
        let is_answer = |line: &Line| matches!(&line.entry, JournalEntry::Answer { session: of, .. } if of == session);
        let start = self.0.iter().rposition(is_answer).unwrap_or(0);
        self.0.get(start..).unwrap_or_default()
    }

    /// Returns the consumption so far: the larger one of `saved` and the last recorded one, and the
    /// calls since.
    pub(crate) fn consumption(&self, saved: &Spent) -> Spent {
        let mut calls = 0;
        let mut suspended = Vec::new();
        let mut spent = saved.clone();
        for line in self.0.iter().rev() {
            match &line.entry {
                // A call that waits is counted when it is executed.
                JournalEntry::Suspend { session, id } => suspended.push((session, id)),
                JournalEntry::Call { session, id, .. } => {
                    match suspended.iter().position(|one| *one == (session, id)) {
                        Some(at) => drop(suspended.swap_remove(at)),
                        None => calls += 1,
                    }
                }
                JournalEntry::Answer { spent: recorded, .. } => {
                    spent = later(&spent, recorded, calls);
                    break;
                }
                _ => {}
            }
        }
        spent
    }
}

/// Combines a saved consumption with a recorded one that `calls` tool calls followed. Consumption
/// only grows, so that the larger number is the newer one.
fn later(saved: &Spent, recorded: &Spent, calls: u32) -> Spent {
    let mut spent = recorded.clone();
    spent.turns = spent.turns.max(saved.turns);
    spent.tool_calls = spent.tool_calls.saturating_add(calls).max(saved.tool_calls);
    spent.tokens = spent.tokens.max(saved.tokens);
    spent.cost = spent.cost.max(saved.cost);
    spent.output_bytes = spent.output_bytes.max(saved.output_bytes);
    spent.wall_time = spent.wall_time.max(saved.wall_time);
    spent
}

fn ends_torn(file: &mut File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory() -> (tempfile::TempDir, RunDirectory) {
        let runs = tempfile::tempdir().unwrap();
        let directory = RunDirectory::create(runs.path()).unwrap();
        (runs, directory)
    }

    fn result(id: &str, text: &str) -> Arc<ToolResultMessage> {
        let content = vec![pi_protocol::UserBlock::text(text)];
        let tool_call_id = id.to_owned();
        Arc::new(ToolResultMessage { tool_call_id, content, ..ToolResultMessage::default() })
    }

    #[test]
    fn the_last_answer_decides_which_calls_were_started() {
        let (_runs, directory) = directory();
        let journal = Arc::new(Journal::open(&directory).unwrap());
        let session = || "s".to_owned();
        let answer = |turns: u32| {
            let mut spent = Spent::default();
            spent.turns = turns;
            JournalEntry::Answer { session: session(), spent }
        };
        let call = |id: &str| JournalEntry::Call {
            session: session(),
            id: id.to_owned(),
            tool: "bash".to_owned(),
        };
        let ended = |id: &str| JournalEntry::Result { session: session(), result: result(id, id) };
        let suspended = JournalEntry::Suspend { session: session(), id: "w".to_owned() };
        for entry in [
            answer(1),
            call("a"),
            ended("a"),
            answer(2),
            call("b"),
            ended("b"),
            call("c"),
            call("w"),
        ] {
            journal.append(entry).unwrap();
        }
        journal.append(suspended).unwrap();
        let recorded = Recorded::read(directory.path()).unwrap();
        assert_eq!(recorded.call("s", "a"), CallState::NotStarted, "an id of an earlier answer");
        assert_eq!(recorded.call("s", "b"), CallState::Ended(result("b", "b")));
        assert!(matches!(recorded.call("s", "c"), CallState::Started { .. }));
        assert_eq!(recorded.call("s", "w"), CallState::NotStarted, "waits for a sub-agent");
        assert_eq!(recorded.call("other", "c"), CallState::NotStarted);
        let spent = recorded.consumption(&Spent::default());
        assert_eq!((spent.turns, spent.tool_calls), (2, 2), "w is counted when it is executed");
    }

    #[test]
    fn a_torn_line_announces_nothing_and_spoils_no_other_line() {
        let (_runs, directory) = directory();
        let path = directory.path().join(NAME);
        let torn = r#"{"time":1,"type":"call","session":"s","id":"a","#;
        fs::write(&path, torn).unwrap();
        let journal = Arc::new(Journal::open(&directory).unwrap());
        let (session, id, tool) = ("s".to_owned(), "b".to_owned(), "bash".to_owned());
        journal.append(JournalEntry::Call { session, id, tool }).unwrap();
        let recorded = Recorded::read(directory.path()).unwrap();
        assert_eq!(recorded.call("s", "a"), CallState::NotStarted);
        assert!(matches!(recorded.call("s", "b"), CallState::Started { .. }));
        assert!(fs::read_to_string(&path).unwrap().starts_with(torn), "nothing is rewritten");
    }
}
