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
    /// Ignored files and those of repositories, which no diff has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) beside: BTreeMap<String, FileState>,
}

impl State {
    /// Returns true if another state has the same files.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let same = |a: &BTreeMap<String, FileState>, b: &BTreeMap<String, FileState>| {
            let mut pairs = a.iter().zip(b);
            a.len() == b.len() && pairs.all(|((one, a), (two, b))| one == two && a.is_same(b))
        };
        same(&self.items, &other.items) && same(&self.beside, &other.beside)
    }

    /// Returns true if another state lacks nothing that restoring this one would bring back, and has
    /// the same files of the workspace.
    pub(super) fn is_kept_by(&self, other: &Self) -> bool {
        let alike = Self { items: other.items.clone(), beside: BTreeMap::new() };
        let own = Self { items: self.items.clone(), beside: BTreeMap::new() };
        let beside = self.beside_changes_to(other);
        own.is_same(&alike) && !beside.iter().any(loses)
    }

    /// Returns the changes beside the workspace's own files.
    pub(super) fn beside_changes_to(&self, other: &Self) -> Vec<Change> {
        changes_by(&self.beside, &other.beside, FileState::is_same)
    }

    /// Returns the changes that turn this state into `other`.
    pub(super) fn changes_to(&self, other: &Self) -> Vec<Change> {
        changes_by(&self.items, &other.items, FileState::is_same)
    }

    /// Returns the changes that turn this state into `other`, including those of times.
    pub(super) fn exact_changes_to(&self, other: &Self) -> Vec<Change> {
        changes_by(&self.items, &other.items, |a, b| a == b)
    }
}

/// Returns the changes that turn some files into others.
fn changes_by(
    from: &BTreeMap<String, FileState>,
    to: &BTreeMap<String, FileState>,
    is_same: fn(&FileState, &FileState) -> bool,
) -> Vec<Change> {
    let paths: BTreeSet<&String> = from.keys().chain(to.keys()).collect();
    let change = |path: &String| {
        let (before, after) = (from.get(path), to.get(path));
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

/// Returns true if something is lost or moved by a change beside the workspace's own files. New
/// ignored files, longer logs and the cache of a repository are no such change.
pub(super) fn loses(change: &Change) -> bool {
    let size = |state: &Option<FileState>| match state {
        Some(FileState::File { size, .. }) => *size,
        _ => 0,
    };
    let is_git = change.path.split('/').any(|part| part == ".git");
    if !is_git {
        return change.before.is_some();
    }
    if change.path.ends_with("/index") {
        return false;
    }
    // The number of objects that the repository lost.
    if change.path.ends_with("/objects") {
        return size(&change.after) > size(&change.before);
    }
    !change.path.contains("/logs/") || size(&change.after) <= size(&change.before)
}
