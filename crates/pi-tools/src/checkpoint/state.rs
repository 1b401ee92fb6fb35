//! What a workspace looks like: every file, directory and link in it, by path.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Something at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum FileState {
    /// A file.
    File {
        /// What its content is; absent if it was too large to be kept.
        hash: Option<String>,
        /// Bytes.
        size: u64,
        /// Permission bits.
        mode: u32,
        /// When its content changed, in nanoseconds since the epoch.
        modified: i64,
    },
    /// A directory.
    Directory {
        /// Permission bits.
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// Where it leads, written as in [`Change::path`].
        target: String,
    },
}

impl FileState {
    /// The same to whoever looks at it. When a file was written is not part of that: a build that
    /// writes the same bytes again changes nothing.
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

/// A difference between two states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path, from the workspace on. A byte that is no text is written as a zero character,
    /// which no path has, and two hexadecimal digits.
    pub path: String,
    /// What was there; `None` for nothing.
    pub before: Option<FileState>,
    /// What is there now.
    pub after: Option<FileState>,
}

/// All items, by path.
#[derive(Debug, Clone, Default)]
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
    /// What has to change to make this state the other.
    pub(super) fn changes_to(&self, other: &Self) -> Vec<Change> {
        let paths: BTreeSet<&String> = self.items.keys().chain(other.items.keys()).collect();
        let change = |path: &String| {
            let (before, after) = (self.items.get(path), other.items.get(path));
            let same = match (before, after) {
                (Some(before), Some(after)) => before.is_same(after),
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

    /// Makes a change.
    pub(super) fn apply(&mut self, path: &str, item: Option<FileState>) {
        match item {
            Some(item) => self.items.insert(path.to_owned(), item),
            None => self.items.remove(path),
        };
    }
}
