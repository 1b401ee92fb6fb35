//! Finding what a command left in the writable roots with which `git` would run programs later,
//! outside of the sandbox.
//!
//! The kernel protects the configuration and the hooks of the repository. It cannot protect files
//! that must be allowed to be absent (`.git/commondir`), and commands may create repositories. So
//! the directories are compared with what was known before: new repositories, directories that
//! became repositories, and changed files of known ones are judged. A file with which `git` would
//! run a program is renamed, so that it has no effect and is not lost.
//!
//! The work is bounded. A directory whose time of change is known is not read again, and an
//! examination that reaches its limit is continued by the next one. Times of change (`ctime`)
//! cannot be set by a command.

mod entry;
mod repository;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound::{Excluded, Unbounded};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pi_base::lock;

use self::entry::{Listing, Stamp};
use self::repository::{Absent, Judge, Pointer, Repository};
use super::git::Named;
use super::roots::resolve_parent;

/// The work of one examination after a command, in directories.
const USUAL: usize = 8_192;
/// The work of the last examination of a session: a few seconds.
const FINAL: usize = 2_000_000;
/// The time in which a directory may change again without another time of change.
const SAME_TIME: Duration = Duration::from_millis(20);

/// A file that was renamed because `git` would have run a program because of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leftover {
    /// Path of the file.
    pub path: PathBuf,
    /// New path of the file.
    pub renamed_to: PathBuf,
    /// What the file would have done.
    pub reason: String,
}

/// A sentence for the model and the user.
impl fmt::Display for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, reason) = (self.path.display(), &self.reason);
        let name = self.renamed_to.file_name().unwrap_or_default().display();
        write!(f, "{path} was renamed to {name}: git outside of the sandbox would {reason}")
    }
}

/// The directories of the writable roots, as far as they are known.
#[derive(Default)]
pub(super) struct Repositories(Mutex<Option<State>>);

impl fmt::Debug for Repositories {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repositories").finish_non_exhaustive()
    }
}

/// What is known about the directories does not distinguish two confinements.
impl PartialEq for Repositories {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for Repositories {}

struct State {
    trees: Vec<Tree>,
    /// Paths that commands cannot write.
    protected: Vec<PathBuf>,
    /// Paths that the repositories of the roots name and that did not exist.
    absent: Vec<Absent>,
    /// Files that changed earlier were there before the first command.
    started: Stamp,
}

struct Tree {
    root: PathBuf,
    /// Known directories by their path in the root.
    directories: BTreeMap<PathBuf, Directory>,
    /// The directory that was examined last, unless all were.
    reached: Option<PathBuf>,
}

#[derive(Default)]
struct Directory {
    /// The time of change when the directory was read, unless it may have changed since.
    read: Option<Stamp>,
    /// The directory was read before, or appeared after the directory above it was read.
    is_known: bool,
    repository: Option<Repository>,
    pointer: Option<Pointer>,
}

impl Repositories {
    /// Takes note of what exists before the first command. Does nothing afterwards.
    pub(super) fn begin(
        &self,
        roots: &[&Path],
        protected_and_named: impl FnOnce() -> (Vec<PathBuf>, Vec<Named>),
    ) {
        let mut state = lock(&self.0);
        if state.is_some() {
            return;
        }
        let outermost =
            |root: &&&Path| !roots.iter().any(|other| root.starts_with(other) && **root != *other);
        let tree = |root: &&Path| Tree {
            root: root.to_path_buf(),
            directories: BTreeMap::from([(PathBuf::new(), Directory::default())]),
            reached: None,
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let trees = roots.iter().filter(outermost).map(tree).collect();
        let started = Stamp::at(now.saturating_sub(SAME_TIME));
        let (protected, named) = protected_and_named();
        let absent = named.into_iter().flat_map(|named| {
            let files = named.files.into_iter().map(|path| (path, true));
            files.chain(named.hooks.into_iter().map(|path| (path, false)))
        });
        let absent = absent
            .filter(|(path, _)| !path.exists())
            .map(|(path, is_file)| Absent::new(resolve_parent(&path), is_file))
            .collect();
        let new = state.insert(State { trees, protected, absent, started });
        new.examine(USUAL, false);
    }

    /// Judges what changed since the last call.
    pub(super) fn examine(&self, is_last: bool) -> Vec<Leftover> {
        let mut state = lock(&self.0);
        let work = if is_last { FINAL } else { USUAL };
        state.as_mut().map(|state| state.examine(work, true)).unwrap_or_default()
    }
}

impl State {
    /// Examines directories until the work is done or used up. Nothing is renamed unless `enforce`.
    fn examine(&mut self, mut work: usize, enforce: bool) -> Vec<Leftover> {
        let mut found = Vec::new();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let settled = Stamp::at(now.saturating_sub(SAME_TIME));
        let roots: Vec<PathBuf> = self.trees.iter().map(|tree| tree.root.clone()).collect();
        for (tree, root) in self.trees.iter_mut().zip(&roots) {
            let judge = Judge {
                root,
                roots: &roots,
                protected: &self.protected,
                started: self.started,
                enforce,
            };
            tree.examine(&judge, settled, &mut work, &mut found);
            if let Some(root) = entry::open_root(root) {
                for absent in &mut self.absent {
                    absent.examine(&root, &judge, &mut found);
                }
            }
        }
        found
    }
}

impl Tree {
    fn examine(
        &mut self,
        judge: &Judge<'_>,
        settled: Stamp,
        work: &mut usize,
        found: &mut Vec<Leftover>,
    ) {
        let Some(root) = entry::open_root(&self.root) else { return };
        loop {
            let after = match &self.reached {
                Some(reached) => Excluded(reached.clone()),
                None => Unbounded,
            };
            let next = self.directories.range((after, Unbounded)).next();
            let Some(path) = next.map(|(path, _)| path.clone()) else {
                self.reached = None;
                return;
            };
            if *work == 0 {
                return;
            }
            let used = self.visit(&root, &path, judge, settled, found);
            *work = work.saturating_sub(used);
            self.reached = Some(path);
        }
    }

    /// Examines one directory. Returns the work.
    fn visit(
        &mut self,
        root: &OwnedFd,
        path: &Path,
        judge: &Judge<'_>,
        settled: Stamp,
        found: &mut Vec<Leftover>,
    ) -> usize {
        let stamp = entry::directory_stamp(root, path);
        let (Some(stamp), Some(known)) = (stamp, self.directories.get_mut(path)) else {
            self.directories.remove(path);
            return 1;
        };
        let is_unchanged = known.read == Some(stamp);
        if is_unchanged && known.repository.is_none() && known.pointer.is_none() {
            return 1;
        }
        let Some(directory) = entry::open(root, path) else { return 1 };
        let place = judge.root.join(path);
        let mut work = 1;
        if !is_unchanged {
            let Some(listing) = Listing::read(&directory) else { return 1 };
            work += listing.entries / 8;
            let was_known = known.is_known;
            known.read = (stamp < settled).then_some(stamp);
            known.is_known = true;
            match (&known.repository, listing.is_repository()) {
                // A directory that was read before and was no repository has become one.
                (None, true) => known.repository = Some(Repository::new(was_known)),
                (Some(_), false) => known.repository = None,
                _ => {}
            }
            match (&known.pointer, listing.has_pointer) {
                (None, true) => known.pointer = Some(Pointer::new(was_known)),
                (Some(_), false) => known.pointer = None,
                _ => {}
            }
            for name in listing.directories {
                let new = Directory { is_known: was_known, ..Directory::default() };
                self.directories.entry(path.join(name)).or_insert(new);
            }
        }
        let Some(known) = self.directories.get_mut(path) else { return work };
        if let Some(repository) = &mut known.repository {
            repository.examine(&directory, &place, judge, found);
            work += 8;
        }
        if let Some(pointer) = &mut known.pointer {
            pointer.examine(&directory, &place, judge, found);
            work += 2;
        }
        work
    }
}
