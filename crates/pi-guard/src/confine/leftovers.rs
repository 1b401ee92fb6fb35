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

pub(super) mod entry;
mod operations;
mod repository;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound::{Excluded, Unbounded};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pi_base::lock;
use rustix::io::Errno;

use self::entry::{Listing, Stamp};
use self::repository::{Absent, Judge, Kind, Pointer, Repository};
use super::git::Named;
use super::roots::resolve_missing;

/// The work of one examination after a command, in directories.
const USUAL: usize = 8_192;
/// The work of the last examination of a session: a few seconds.
const FINAL: usize = 2_000_000;
/// The time in which a directory may change again without another time of change.
pub(super) const SAME_TIME: Duration = Duration::from_millis(20);

/// A file because of which `git` outside of the sandbox would run a program, or a protected file that
/// a command changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leftover {
    /// Path of the file.
    pub path: PathBuf,
    /// New path of the file; `None` if it could not be disabled, or if it is gone.
    pub renamed_to: Option<PathBuf>,
    /// What the file would have done, or what happened to it.
    pub reason: String,
    /// What could not be done about the file. It is dangerous then.
    pub problem: Option<String>,
}

impl Leftover {
    fn disabled(path: PathBuf, renamed_to: PathBuf, would: &str) -> Self {
        let reason = format!("git outside of the sandbox would {would}");
        Self { path, renamed_to: Some(renamed_to), reason, problem: None }
    }

    fn armed(path: PathBuf, would: &str, error: &str) -> Self {
        let reason = format!("git outside of the sandbox would {would}");
        let problem = Some(format!("it could not be disabled ({error})"));
        Self { path, renamed_to: None, reason, problem }
    }

    fn unexamined(path: PathBuf, error: &str) -> Self {
        let reason = "git outside of the sandbox may run programs because of it".to_owned();
        let problem = Some(format!("it could not be examined ({error})"));
        Self { path, renamed_to: None, reason, problem }
    }

    /// A change of a protected file.
    pub(super) fn undone(path: PathBuf, renamed_to: Option<PathBuf>, reason: String) -> Self {
        Self { path, renamed_to, reason, problem: None }
    }

    /// Returns true if something dangerous may be left.
    pub fn is_dangerous(&self) -> bool {
        self.problem.is_some()
    }
}

/// A sentence for the model and the user.
impl fmt::Display for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, renamed_to, reason, problem } = self;
        let path = path.display();
        match (renamed_to, problem) {
            (Some(new), _) if new.parent() == self.path.parent() => {
                let name = new.file_name().unwrap_or_default().display();
                write!(f, "{path} was renamed to {name}: {reason}")?;
            }
            (Some(new), _) => write!(f, "{path} was moved to {}: {reason}", new.display())?,
            (None, None) => write!(f, "{path}: {reason}")?,
            (None, Some(_)) => write!(f, "danger: {path}: {reason}")?,
        }
        match problem {
            Some(problem) => write!(f, "; {problem}. Remove it before anything uses it"),
            None => Ok(()),
        }
    }
}

/// The dangerous files that are left, until someone removes them.
#[derive(Debug, Default)]
pub(super) struct Dangers(Mutex<Vec<Leftover>>);

/// What is left does not distinguish two confinements.
impl PartialEq for Dangers {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for Dangers {}

impl Dangers {
    pub(super) fn add(&self, found: &[Leftover]) {
        let dangerous = found.iter().filter(|leftover| leftover.is_dangerous());
        lock(&self.0).extend(dangerous.cloned());
    }

    pub(super) fn left(&self) -> Vec<Leftover> {
        let mut dangers = lock(&self.0);
        dangers.retain(|danger| danger.path.symlink_metadata().is_ok());
        dangers.clone()
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
    /// The roots and the directory of temporary files.
    writable: Vec<PathBuf>,
    temporary: Option<PathBuf>,
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
    /// That the directory cannot be examined was reported.
    is_reported: bool,
    repository: Option<Repository>,
    pointer: Option<Pointer>,
}

impl Repositories {
    /// Takes note of what exists before the first command. Does nothing afterwards.
    pub(super) fn begin(
        &self,
        roots: &[&Path],
        temporary: Option<&Path>,
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
            let lists = [
                (named.files, Kind::Settings),
                (named.hooks, Kind::Hooks),
                (named.programs, Kind::Program),
            ];
            lists
                .into_iter()
                .flat_map(|(paths, kind)| paths.into_iter().map(move |path| (path, kind)))
        });
        let absent = absent
            .filter(|(path, _)| !path.exists())
            .map(|(path, kind)| Absent::new(resolve_missing(&path), kind))
            .collect();
        let writable = roots.iter().copied().chain(temporary).map(Path::to_owned).collect();
        let temporary = temporary.map(Path::to_owned);
        let new = state.insert(State { trees, writable, temporary, protected, absent, started });
        new.examine(USUAL, false);
    }

    /// Judges what changed since the last call.
    pub(super) fn examine(&self, is_last: bool) -> Vec<Leftover> {
        let mut state = lock(&self.0);
        let work = if is_last { FINAL } else { USUAL };
        let mut found = Vec::new();
        if let Some(state) = state.as_mut() {
            found = state.examine(work, true);
            if is_last {
                let unfinished = state.trees.iter().filter(|tree| tree.reached.is_some());
                let too_large = format!("it has more than {FINAL} directories");
                found.extend(
                    unfinished.map(|tree| Leftover::unexamined(tree.root.clone(), &too_large)),
                );
            }
        }
        found
    }
}

impl State {
    /// Examines directories until the work is done or used up. Nothing is renamed unless `enforce`.
    fn examine(&mut self, mut work: usize, enforce: bool) -> Vec<Leftover> {
        let mut found = Vec::new();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let settled = Stamp::at(now.saturating_sub(SAME_TIME));
        for tree in &mut self.trees {
            let place = tree.root.clone();
            let judge = Judge {
                root: &place,
                writable: &self.writable,
                temporary: self.temporary.as_deref(),
                protected: &self.protected,
                started: self.started,
                settled,
                enforce,
            };
            let root = match entry::open_root(&place) {
                Ok(root) => root,
                Err(error) => {
                    if enforce && !entry::is_gone(error) {
                        found.push(Leftover::unexamined(place, &error.to_string()));
                    }
                    continue;
                }
            };
            tree.examine(&root, &judge, &mut work, &mut found);
            for absent in &mut self.absent {
                absent.examine(&root, &judge, &mut found);
            }
        }
        found
    }
}

impl Tree {
    fn examine(
        &mut self,
        root: &OwnedFd,
        judge: &Judge<'_>,
        work: &mut usize,
        found: &mut Vec<Leftover>,
    ) {
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
            let used = match self.visit(root, &path, judge, found) {
                Ok(used) => used,
                Err(error) => {
                    self.missed(root, &path, error, judge, found);
                    1
                }
            };
            *work = work.saturating_sub(used);
            self.reached = Some(path);
        }
    }

    /// Takes note of a directory that could not be examined.
    fn missed(
        &mut self,
        root: &OwnedFd,
        path: &Path,
        error: Errno,
        judge: &Judge<'_>,
        found: &mut Vec<Leftover>,
    ) {
        if entry::is_gone(error) {
            self.directories.remove(path);
        } else if let Some(known) = self.directories.get_mut(path) {
            known.read = None;
            if judge.enforce && !known.is_reported && entry::may_hide(root, path, error) {
                known.is_reported = true;
                found.push(Leftover::unexamined(judge.root.join(path), &error.to_string()));
            }
        }
    }

    /// Examines one directory. Returns the work.
    fn visit(
        &mut self,
        root: &OwnedFd,
        path: &Path,
        judge: &Judge<'_>,
        found: &mut Vec<Leftover>,
    ) -> Result<usize, Errno> {
        let stamp = entry::directory_stamp(root, path)?;
        let Some(known) = self.directories.get_mut(path) else { return Ok(1) };
        let is_unchanged = known.read == Some(stamp);
        if is_unchanged && known.repository.is_none() && known.pointer.is_none() {
            return Ok(1);
        }
        let directory = entry::open(root, path)?;
        let place = judge.root.join(path);
        let mut work = 1;
        if !is_unchanged {
            let listing = Listing::read(&directory)?;
            work += listing.entries / 8;
            let was_known = known.is_known;
            known.read = (stamp < judge.settled).then_some(stamp);
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
        let Some(known) = self.directories.get_mut(path) else { return Ok(work) };
        if let Some(repository) = &mut known.repository {
            repository.examine(&directory, &place, judge, found);
            work += 8;
        }
        if let Some(pointer) = &mut known.pointer {
            pointer.examine(&directory, &place, judge, found);
            work += 2;
        }
        Ok(work)
    }
}
