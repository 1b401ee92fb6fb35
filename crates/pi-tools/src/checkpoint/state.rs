//! The state of a workspace: every file, directory and link by path.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// The state of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
#[non_exhaustive]
pub enum FileState {
    /// A regular file.
    File {
        /// Hash of the content; absent if the content was not stored.
        hash: Option<String>,
        /// Size in bytes.
        size: u64,
        /// Permission bits.
        mode: u32,
        /// Time of the last change of the content, in nanoseconds since the epoch.
        modified: i64,
    },
    /// A directory.
    Directory {
        /// Permission bits.
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// Target of the link, in the form of [`Change::path`].
        target: String,
    },
}

impl FileState {
    /// Returns the hash of the stored content.
    pub(super) fn content(&self) -> Option<&String> {
        match self {
            Self::File { hash, .. } => hash.as_ref(),
            Self::Directory { .. } | Self::Link { .. } => None,
        }
    }

    /// Returns true if both states are equal apart from the time: a build that writes the same
    /// bytes again changes nothing.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::File { hash: Some(a), mode: mode_a, .. },
                Self::File { hash: Some(b), mode: mode_b, .. },
            ) => a == b && mode_a == mode_b,
            (a, b) => a == b,
        }
    }
}

/// A difference between two states of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// Path relative to the workspace. Each byte that is not valid UTF-8 is written as a zero
    /// character, which no path contains, and two hexadecimal digits.
    pub path: String,
    /// Earlier state; `None` if the path did not exist.
    pub before: Option<FileState>,
    /// Later state; `None` if the path does not exist.
    pub after: Option<FileState>,
}

/// All paths and their states.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) items: BTreeMap<String, FileState>,
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.items.len() == other.items.len()
            && self
                .items
                .iter()
                .zip(&other.items)
                .all(|((path_a, a), (path_b, b))| path_a == path_b && a.is_same(b))
    }
}

impl State {
    /// Returns the changes that turn this state into `other`.
    pub(super) fn changes_to(&self, other: &Self) -> Vec<Change> {
        self.changes_by(other, FileState::is_same)
    }

    /// Returns the changes that turn this state into `other`, including those of times.
    pub(super) fn exact_changes_to(&self, other: &Self) -> Vec<Change> {
        self.changes_by(other, |a, b| a == b)
    }

    fn changes_by(&self, other: &Self, is_same: fn(&FileState, &FileState) -> bool) -> Vec<Change> {
        let paths: BTreeSet<&String> = self.items.keys().chain(other.items.keys()).collect();
        let change = |path: &String| {
            let (before, after) = (self.items.get(path), other.items.get(path));
            let same = match (before, after) {
                (Some(before), Some(after)) => is_same(before, after),
                _ => false,
            };
            (!same).then(|| Change {
                path: path.clone(),
                before: before.cloned(),
                after: after.cloned(),
            })
        };
        paths.into_iter().filter_map(change).collect()
    }

    /// Applies a change to the state of a path.
    pub(super) fn apply(&mut self, path: &str, item: Option<FileState>) {
        match item {
            Some(item) => self.items.insert(path.to_owned(), item),
            None => self.items.remove(path),
        };
    }
}
