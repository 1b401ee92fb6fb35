//! Protected files that Landlock cannot protect while everything beside them can be written: what
//! they were before a command is kept, and restored after it.
//!
//! Landlock grants rights to whole hierarchies. A root in which files can be created is writable with
//! everything below it, `.git/config` included. So a changed protected file is moved away when the
//! command has ended, and its former content returns. Until then, programs outside of the sandbox
//! find the changed file: what they execute meanwhile is sealed instead
//! ([`Confinement::sealed`](super::Confinement::sealed)).
//!
//! Mounts do better, but they cannot hold a link: the links that lead to protected files are kept and
//! restored where there are mounts, too.
//!
//! Changes between commands are those of the user and stay.

mod node;
mod restore;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use pi_base::lock;

use self::node::{Budget, Node, Taken};
use super::Leftover;
use super::leftovers::entry::{self, Stamp};
use super::roots::Root;

/// The protected files of a confinement, as they were before the commands that run now.
#[derive(Default)]
pub(super) struct Kept(Mutex<State>);

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}

/// What is kept does not distinguish two confinements.
impl PartialEq for Kept {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for Kept {}

#[derive(Default)]
struct State {
    /// Commands that began and did not end yet.
    running: usize,
    /// A command began since the files were compared last.
    is_open: bool,
    entries: Vec<Entry>,
    /// What was found when no command asked.
    pending: Vec<Leftover>,
}

/// A protected path.
struct Entry {
    root: PathBuf,
    /// The path in the root.
    inside: PathBuf,
    /// What was there; `None` for nothing.
    node: Option<Node>,
}

impl Kept {
    /// Keeps the protected files of the roots before a command starts; with mounts, only links. While
    /// other commands run, what was kept before them stays.
    pub(super) fn begin(&self, roots: &[Root], has_mounts: bool) {
        let mut state = lock(&self.0);
        if state.running == 0 {
            if state.is_open {
                let found = state.compare();
                state.pending.extend(found);
            }
            state.entries = take(roots, has_mounts, &state.entries);
        }
        state.running += 1;
        state.is_open = true;
    }

    /// Restores the protected files after a command. Returns what it changed.
    pub(super) fn end(&self, is_last: bool) -> Vec<Leftover> {
        let mut state = lock(&self.0);
        let mut found = std::mem::take(&mut state.pending);
        if state.is_open {
            found.extend(state.compare());
        }
        state.running = if is_last { 0 } else { state.running.saturating_sub(1) };
        state.is_open = state.running > 0;
        found
    }

    /// Takes note that the caller of a command is gone. The next command compares the files.
    pub(super) fn abandon(&self) {
        let mut state = lock(&self.0);
        state.running = state.running.saturating_sub(1);
    }

    /// The protected paths that are restored after the commands that run now.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        let state = lock(&self.0);
        let running = state.running > 0;
        state.entries.iter().filter(|_| running).map(Entry::path).collect()
    }
}

impl State {
    fn compare(&self) -> Vec<Leftover> {
        let mut found = Vec::new();
        for entry in &self.entries {
            restore::restore(entry, &mut found);
        }
        found
    }
}

impl Entry {
    fn path(&self) -> PathBuf {
        self.root.join(&self.inside)
    }
}

/// Reads the protected paths. One that cannot be read, or is too large, is left out: Landlock then
/// protects it, together with the directories above it.
fn take(roots: &[Root], has_mounts: bool, former: &[Entry]) -> Vec<Entry> {
    let mut budget = Budget::default();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let settled = Stamp::at(now.saturating_sub(super::leftovers::SAME_TIME));
    let mut entries = Vec::new();
    for root in roots {
        let Ok(directory) = entry::open_root(&root.path) else { continue };
        for path in root.restorable(has_mounts) {
            let Ok(inside) = path.strip_prefix(&root.path) else { continue };
            let (Some(above), Some(name)) = (inside.parent(), inside.file_name()) else { continue };
            let is_same = |entry: &&Entry| entry.root == root.path && entry.inside == inside;
            let former = former.iter().find(is_same).and_then(|entry| entry.node.as_ref());
            let node = match entry::open(&directory, above) {
                Ok(above) => Node::take(&above, name, former, settled, &mut budget),
                Err(error) if entry::is_gone(error) => Taken::Nothing,
                Err(_) => Taken::Unknown,
            };
            let node = match node {
                Taken::Nothing => None,
                Taken::Node(node) => Some(node),
                Taken::Unknown => continue,
            };
            entries.push(Entry { root: root.path.clone(), inside: inside.to_owned(), node });
        }
    }
    entries
}

/// Returns true for a path that may be removed: without it, `git` does not use the work tree.
fn may_vanish(inside: &Path) -> bool {
    inside.iter().any(|name| name == "worktrees")
}

/// Returns true for a path that may be created: a new repository is examined like those elsewhere.
fn may_appear(inside: &Path) -> bool {
    inside.ends_with(".git")
}
