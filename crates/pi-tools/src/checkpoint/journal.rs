//! The journal: the order of checkpoints, their changes, and the current one.
//!
//! A file of JSON lines that is only appended to, until the oldest checkpoints are dropped and it
//! is rewritten. An incomplete last line is the rest of a checkpoint that was never reported, after
//! a crash. Checkpoints build on each other, so all lines after an unreadable one are dropped.

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::state::{FileState, State};
use super::{Checkpoint, CheckpointError};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Line {
    /// A checkpoint was taken after the current one.
    Taken(Entry),
    /// Another checkpoint became the current one.
    Moved { number: usize },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry {
    number: usize,
    label: String,
    /// Milliseconds since the epoch; absent in journals of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time: Option<i64>,
    /// The changes were found and not made by a run.
    #[serde(default, skip_serializing_if = "is_false")]
    found: bool,
    /// Checkpoint before this one. Later ones were undone and are gone.
    follows: Option<usize>,
    /// Differences from that checkpoint, or from an empty workspace.
    changes: Vec<(String, Option<FileState>)>,
}

/// The checkpoints in their order.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    entries: Vec<Entry>,
    position: Option<usize>,
    /// State of the workspace at the current checkpoint.
    state: State,
}

impl Journal {
    pub(super) fn open(path: &Path) -> Result<Self, CheckpointError> {
        let mut journal = Self {
            path: path.to_owned(),
            entries: Vec::new(),
            position: None,
            state: State::default(),
        };
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(CheckpointError::io("read", path)(error)),
        };
        let mut sound = text.is_empty() || text.ends_with('\n');
        for line in text.lines() {
            match serde_json::from_str(line) {
                Ok(Line::Taken(entry)) => journal.add(entry),
                Ok(Line::Moved { number }) if journal.index(number).is_some() => {
                    journal.position = Some(number);
                }
                _ => {
                    sound = false;
                    break;
                }
            }
        }
        if let Some(position) = journal.position {
            journal.state = journal.state_at(position)?;
        }
        if !sound {
            journal.rewrite()?;
        }
        Ok(journal)
    }

    pub(super) fn position(&self) -> Option<usize> {
        self.position
    }

    pub(super) fn state(&self) -> &State {
        &self.state
    }

    pub(super) fn list(&self) -> Vec<Checkpoint> {
        let checkpoint = |entry: &Entry| Checkpoint {
            number: entry.number,
            label: entry.label.clone(),
            changes: entry.changes.len(),
            time: entry.time,
            found: entry.found,
        };
        self.entries.iter().map(checkpoint).collect()
    }

    /// Adds a checkpoint after the current one, and makes it the current one.
    pub(super) fn push(
        &mut self,
        label: &str,
        found: bool,
        state: State,
    ) -> Result<usize, CheckpointError> {
        let number = self.entries.last().map_or(0, |last| last.number + 1);
        let changes = self.state.changes_to(&state);
        let entry = Entry {
            number,
            label: label.to_owned(),
            time: Some(now()),
            found,
            follows: self.position,
            changes: changes.into_iter().map(|change| (change.path, change.after)).collect(),
        };
        self.append(&Line::Taken(entry.clone()))?;
        self.add(entry);
        self.state = state;
        Ok(number)
    }

    /// Makes another checkpoint the current one.
    pub(super) fn move_to(&mut self, number: usize) -> Result<(), CheckpointError> {
        let state = self.state_at(number)?;
        self.append(&Line::Moved { number })?;
        (self.position, self.state) = (Some(number), state);
        Ok(())
    }

    /// Returns the latest run up to the current checkpoint, as the checkpoints after and before it.
    pub(super) fn last_run(&self) -> Option<(usize, usize)> {
        let current = self.index(self.position?)?;
        let run = (1..=current).rev().find(|at| !self.entries[*at].found)?;
        Some((self.entries[run].number, self.entries[run - 1].number))
    }

    /// Returns the first run after the current checkpoint, as the checkpoints before and after it.
    pub(super) fn next_run(&self) -> Option<(usize, usize)> {
        let current = self.index(self.position?)?;
        let run = (current + 1..self.entries.len()).find(|at| !self.entries[*at].found)?;
        Some((self.entries[run - 1].number, self.entries[run].number))
    }

    /// Returns the state at a checkpoint.
    pub(super) fn state_at(&self, number: usize) -> Result<State, CheckpointError> {
        let at = self.index(number).ok_or(CheckpointError::Unknown(number))?;
        let mut state = State::default();
        for (path, item) in self.entries[..=at].iter().flat_map(|entry| &entry.changes) {
            state.apply(path, item.clone());
        }
        Ok(state)
    }

    /// Drops the oldest checkpoint, unless it is the latest or the current one.
    pub(super) fn forget_oldest(&mut self) -> Result<bool, CheckpointError> {
        let [oldest, next, ..] = self.entries.as_slice() else { return Ok(false) };
        if self.position == Some(oldest.number) {
            return Ok(false);
        }
        let state = self.state_at(next.number)?;
        let changes = state.items.into_iter().map(|(path, item)| (path, Some(item))).collect();
        self.entries.remove(0);
        self.entries[0].changes = changes;
        self.entries[0].follows = None;
        self.rewrite()?;
        Ok(true)
    }

    /// Returns the hashes of all contents that checkpoints refer to.
    pub(super) fn hashes(&self) -> HashSet<String> {
        let items = self.entries.iter().flat_map(|entry| &entry.changes);
        items
            .filter_map(|(_, item)| match item {
                Some(FileState::File { hash, .. }) => hash.clone(),
                _ => None,
            })
            .collect()
    }

    fn add(&mut self, entry: Entry) {
        // Later checkpoints were undone.
        let kept = entry.follows.and_then(|number| self.index(number)).map_or(0, |at| at + 1);
        self.entries.truncate(kept);
        self.position = Some(entry.number);
        self.entries.push(entry);
    }

    fn index(&self, number: usize) -> Option<usize> {
        self.entries.iter().position(|entry| entry.number == number)
    }

    fn append(&self, line: &Line) -> Result<(), CheckpointError> {
        let bytes = encode(line)?;
        let failed = || CheckpointError::io("write", &self.path);
        let file = OpenOptions::new().create(true).append(true).open(&self.path);
        file.map_err(failed())?.write_all(&bytes).map_err(failed())
    }

    fn rewrite(&self) -> Result<(), CheckpointError> {
        let failed = || CheckpointError::io("write", &self.path);
        let mut bytes = Vec::new();
        for entry in &self.entries {
            bytes.extend(encode(&Line::Taken(entry.clone()))?);
        }
        if let Some(number) = self.position {
            bytes.extend(encode(&Line::Moved { number })?);
        }
        let directory = self.path.parent().unwrap_or(Path::new("."));
        let mut new = tempfile::NamedTempFile::new_in(directory).map_err(failed())?;
        new.write_all(&bytes).map_err(failed())?;
        new.persist(&self.path).map_err(|error| failed()(error.error))?;
        Ok(())
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn encode(line: &Line) -> Result<Vec<u8>, CheckpointError> {
    let json = serde_json::to_vec(line).map_err(std::io::Error::other);
    let mut bytes = json.map_err(CheckpointError::io("write", "the journal"))?;
    bytes.push(b'\n');
    Ok(bytes)
}
