//! The journal: the order of checkpoints, their changes, and the current one.
//!
//! A file of JSON lines that is only appended to, until the oldest checkpoints are dropped and it
//! is rewritten. An incomplete last line is the rest of a checkpoint that was never reported, after
//! a crash. Checkpoints build on each other, so all lines after an unreadable one are dropped.

use std::collections::{BTreeMap, HashSet};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use pi_fs::if_exists;
use serde::{Deserialize, Serialize};

use super::objects::{self, Objects};
use super::state::{Change, FileState, State};
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
    /// Hash of the state that the first checkpoint is based on; many sessions share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base: Option<String>,
    /// Differences from that checkpoint, from the base, or from an empty workspace.
    changes: Vec<(String, Option<FileState>)>,
    /// The same for files beside the workspace's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    beside: Vec<(String, Option<FileState>)>,
}

/// The checkpoints in their order.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    entries: Vec<Entry>,
    position: Option<usize>,
    /// State that the first checkpoint is based on.
    base: State,
    /// State of the workspace at the current checkpoint.
    state: State,
}

impl Journal {
    pub(super) fn open(path: &Path, objects: &Objects) -> Result<Self, CheckpointError> {
        let (mut journal, is_sound) = Self::read(path, objects)?;
        if let Some(position) = journal.position {
            journal.state = journal.state_at(position)?;
        }
        if !is_sound {
            journal.rewrite()?;
        }
        Ok(journal)
    }

    /// Returns the hashes of everything in the store that a journal refers to.
    pub(super) fn needs(
        path: &Path,
        objects: &Objects,
    ) -> Result<HashSet<String>, CheckpointError> {
        let (journal, _) = match Self::read(path, objects) {
            // A base that is gone needs nothing; the session reports it when it is opened.
            Err(CheckpointError::Io(error)) if error.source.kind() == ErrorKind::NotFound => {
                return Ok(HashSet::new());
            }
            read => read?,
        };
        let mut needs: HashSet<String> = HashSet::new();
        let Some((first, later)) = journal.entries.split_first() else { return Ok(needs) };
        needs.extend(first.base.clone());
        // The base may contain files that were gone or different at the first checkpoint.
        let state = journal.state_at(first.number)?;
        let files = state.items.values().chain(state.beside.values());
        needs.extend(files.filter_map(FileState::content).cloned());
        let changes = later.iter().flat_map(|entry| entry.changes.iter().chain(&entry.beside));
        needs.extend(changes.filter_map(|(_, item)| item.as_ref()?.content().cloned()));
        Ok(needs)
    }

    /// Reads a journal without changing it. Returns false with it if its end is damaged.
    fn read(path: &Path, objects: &Objects) -> Result<(Self, bool), CheckpointError> {
        let mut journal = Self {
            path: path.to_owned(),
            entries: Vec::new(),
            position: None,
            base: State::default(),
            state: State::default(),
        };
        let text = if_exists(std::fs::read_to_string(path));
        let text = text.map_err(CheckpointError::io("read", path))?.unwrap_or_default();
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
        if let Some(base) = journal.entries.first().and_then(|first| first.base.clone()) {
            journal.base = read_state(objects, &base)?;
        }
        Ok((journal, sound))
    }

    pub(super) fn position(&self) -> Option<usize> {
        self.position
    }

    pub(super) fn state(&self) -> &State {
        &self.state
    }

    pub(super) fn list(&self) -> Vec<Checkpoint> {
        let mut list: Vec<Checkpoint> = self
            .entries
            .iter()
            .map(|entry| Checkpoint {
                number: entry.number,
                label: entry.label.clone(),
                changes: entry.changes.len() + entry.repository_changes(),
                time: entry.time,
                found: entry.found,
            })
            .collect();
        // Everything is new at the first checkpoint, even if it is based on a shared state.
        if let Some(first) = list.first_mut() {
            first.changes = self.state_at(first.number).map_or(0, |state| state.items.len());
        }
        list
    }

    /// Adds a checkpoint after the current one, and makes it the current one. The first checkpoint
    /// is based on `base`.
    pub(super) fn push(
        &mut self,
        label: &str,
        found: bool,
        state: State,
        base: Option<(String, State)>,
    ) -> Result<usize, CheckpointError> {
        let number = self.entries.last().map_or(0, |last| last.number + 1);
        let (base, changes, beside) = match base {
            Some((hash, base)) => {
                let (changes, beside) =
                    (base.exact_changes_to(&state), base.beside_changes_to(&state));
                self.base = base;
                (Some(hash), changes, beside)
            }
            None => (None, self.state.changes_to(&state), self.state.beside_changes_to(&state)),
        };
        let entry = Entry {
            number,
            label: label.to_owned(),
            time: Some(now()),
            found,
            follows: self.position,
            base,
            changes: after(changes),
            beside: after(beside),
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
        let mut state = self.base.clone();
        for entry in &self.entries[..=at] {
            for (path, item) in &entry.changes {
                apply(&mut state.items, path, item);
            }
            for (path, item) in &entry.beside {
                apply(&mut state.beside, path, item);
            }
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
        let changes = self.base.exact_changes_to(&state);
        let beside = self.base.beside_changes_to(&state);
        let base = self.entries.remove(0).base;
        let first = &mut self.entries[0];
        (first.changes, first.beside) = (after(changes), after(beside));
        first.base = base;
        first.follows = None;
        self.rewrite()?;
        Ok(true)
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
        let mut bytes = Vec::new();
        for entry in &self.entries {
            bytes.extend(encode(&Line::Taken(entry.clone()))?);
        }
        if let Some(number) = self.position {
            bytes.extend(encode(&Line::Moved { number })?);
        }
        pi_fs::write(&self.path, pi_fs::Access::Private, &bytes)
            .map_err(CheckpointError::io("write", &self.path))
    }
}

impl Entry {
    /// Returns the number of references of repositories that changed.
    fn repository_changes(&self) -> usize {
        let is_reference = |path: &str| {
            let inner = path.rsplit_once(".git/").map_or("", |(_, inner)| inner);
            inner.starts_with("refs/") || matches!(inner, "HEAD" | "packed-refs")
        };
        self.beside.iter().filter(|(path, _)| is_reference(path)).count()
    }
}

/// Returns the states after changes.
fn after(changes: Vec<Change>) -> Vec<(String, Option<FileState>)> {
    changes.into_iter().map(|change| (change.path, change.after)).collect()
}

fn apply(files: &mut BTreeMap<String, FileState>, path: &str, item: &Option<FileState>) {
    match item {
        Some(item) => files.insert(path.to_owned(), item.clone()),
        None => files.remove(path),
    };
}

fn is_false(value: &bool) -> bool {
    !value
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Reads the state of a whole workspace.
pub(super) fn read_state(objects: &Objects, hash: &str) -> Result<State, CheckpointError> {
    let bytes = objects.read(hash)?;
    let state = serde_json::from_slice(&bytes).map_err(std::io::Error::other);
    state.map_err(CheckpointError::io("read", format!("the state {hash}")))
}

/// Stores the state of a whole workspace. Returns its hash.
pub(super) fn write_state(objects: &Objects, state: &State) -> Result<String, CheckpointError> {
    let bytes = serde_json::to_vec(state).map_err(std::io::Error::other);
    let bytes = bytes.map_err(CheckpointError::io("write", "the state of the workspace"))?;
    let hash = objects::hash(&bytes);
    objects.write(&hash, &bytes)?;
    Ok(hash)
}

fn encode(line: &Line) -> Result<Vec<u8>, CheckpointError> {
    let json = serde_json::to_vec(line).map_err(std::io::Error::other);
    let mut bytes = json.map_err(CheckpointError::io("write", "the journal"))?;
    bytes.push(b'\n');
    Ok(bytes)
}
