//! Checkpoints of a workspace, and restoring them.
//!
//! A checkpoint covers every file, directory and link below a directory, whether a tool, a shell
//! command or the user changed it. Each content is stored once, by its hash, in a store that all
//! sessions share; files that have not changed since the last checkpoint of the same directory, in
//! any session, are not read again.
//!
//! Repositories in the workspace are covered: their references, logs, index and configuration, and
//! their objects, of which links or copies are kept. Git is not started, and a repository is only
//! changed when a checkpoint is restored. References that moved after a run stay and are reported.
//!
//! Of the files that git ignores, small ones outside of caches are covered: they come back if a run
//! changed or removed them, and those that a run created stay. Build output is not covered, since it
//! can be built again. [`uncovered`] names other files without a copy. No diff has ignored files.
//!
//! Content and mode are restored, hard links are not: a file with several names that was changed
//! becomes several files.
//!
//! Files above [`Limits::file_bytes`] are recorded without their content. [`prune`] removes the
//! checkpoints of sessions that were not used for [`Limits::age`], and those of the oldest sessions
//! if all together exceed [`Limits::store_bytes`]; it runs now and then after a checkpoint. A
//! session that exceeds the limit on its own drops its oldest checkpoints first, and never the
//! latest.

mod beside;
mod collect;
mod export;
mod index;
mod journal;
mod mirror;
mod name;
mod objects;
mod references;
mod repository;
mod restore;
mod scan;
mod state;
mod store;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use index::Index;
use journal::Journal;
use mirror::Mirror;
use objects::Objects;
use pi_fs::FileError;
use scan::Scanned;
use state::State;
use store::Store;

use crate::workspace::Workspace;

pub use beside::uncovered;
pub use collect::{Pruned, Usage, prune, usage};
pub use restore::{Choice, Conflict, ConflictReason, RestoreReport};
pub use scan::covered;
pub use state::{Change, FileState};
pub use store::Lease;

/// Limits of checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum size of a file whose content is stored.
    pub file_bytes: u64,
    /// Maximum size of the checkpoints of all sessions together.
    pub store_bytes: u64,
    /// Time after which the checkpoints of an unused session are removed.
    pub age: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_bytes: 16 * 1024 * 1024,
            store_bytes: 2 * 1024 * 1024 * 1024,
            age: Duration::from_secs(30 * 24 * 60 * 60),
        }
    }
}

/// Reasons why a checkpoint cannot be taken or restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// A file operation failed.
    #[error(transparent)]
    Io(#[from] FileError),
    /// The checkpoint does not exist, or it was dropped.
    #[error("checkpoint {0} does not exist")]
    Unknown(usize),
    /// The workspace is on an executor whose files this process cannot reach.
    #[error("checkpoints are not supported for {}: it is on another machine or in a container", .0.display())]
    NotLocal(PathBuf),
    /// No run up to the current checkpoint changed anything.
    #[error("there is nothing to undo")]
    NothingToUndo,
    /// No run was undone.
    #[error("there is nothing to redo")]
    NothingToRedo,
}

impl CheckpointError {
    fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        FileError::at(action, path)
    }
}

/// A checkpoint in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checkpoint {
    /// Number of the checkpoint; later ones have higher numbers.
    pub number: usize,
    /// Label that was given when it was taken.
    pub label: String,
    /// Number of files, directories and links that differ from the checkpoint before.
    pub changes: usize,
    /// Time when it was taken, in milliseconds since the epoch; unknown in old journals.
    pub time: Option<i64>,
    /// The changes were found and not made by a run: the first state of the workspace, or changes
    /// of the user between two runs.
    pub found: bool,
}

/// The treatment of new contents in a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Contents {
    Store,
    Skip,
}

/// The checkpoints of one session, which cover a workspace.
#[derive(Debug)]
pub struct Checkpoints {
    sessions: PathBuf,
    root: PathBuf,
    limits: Limits,
    journal: Journal,
    objects: Objects,
    store: Store,
    lease: Lease,
    /// Name of the directory of the session.
    name: String,
    /// The reason why the latest checkpoint does not cover the objects of a repository.
    unkept: Option<String>,
}

impl Checkpoints {
    /// Opens or creates the checkpoints in the directory `session` for the workspace `root`. The
    /// directories of all sessions have the same parent, which also contains their contents.
    pub fn open(session: &Path, root: &Path, limits: Limits) -> Result<Self, CheckpointError> {
        let lease = Lease::take(session)?;
        let store = Store::of_session(session);
        let objects = Objects::new(store.objects(), session.join("objects"));
        let journal = Journal::open(&session.join("journal"), &objects)?;
        let sessions = session.parent().unwrap_or(session).to_owned();
        let name = session.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (root, unkept) = (root.to_owned(), None);
        Ok(Self { sessions, root, limits, journal, objects, store, lease, name, unkept })
    }

    /// Opens or creates the checkpoints in the directory `session` for a workspace on this machine.
    pub fn of(
        session: &Path,
        workspace: &Workspace,
        limits: Limits,
    ) -> Result<Self, CheckpointError> {
        let root = workspace.executor().host_path(workspace.cwd());
        let root = root.ok_or_else(|| CheckpointError::NotLocal(workspace.cwd().to_owned()))?;
        Self::open(session, &root, limits)
    }

    /// Protects the checkpoints of this session from removal until the result is dropped.
    pub fn lease(&self) -> Lease {
        self.lease.clone()
    }

    /// Returns the time at which the checkpoints in the directory `store` changed last: when one was
    /// taken or restored.
    pub fn changed(store: &Path) -> Option<SystemTime> {
        std::fs::metadata(store.join("journal")).and_then(|metadata| metadata.modified()).ok()
    }

    /// Takes a checkpoint after a run and returns its number. If nothing has changed, returns the
    /// current one.
    pub fn take(&mut self, label: &str) -> Result<usize, CheckpointError> {
        self.take_labeled(label, false)
    }

    /// Takes a checkpoint before a run, of changes that no run made. [`undo`](Self::undo) leaves
    /// them alone.
    pub fn take_found(&mut self) -> Result<usize, CheckpointError> {
        self.take_labeled("as found", true)
    }

    fn take_labeled(&mut self, label: &str, found: bool) -> Result<usize, CheckpointError> {
        let number = self.add(label, found)?;
        if self.store.is_due(self.limits.store_bytes) {
            self.make_room()?;
        }
        Ok(number)
    }

    fn add(&mut self, label: &str, found: bool) -> Result<usize, CheckpointError> {
        // From the first use of a content until the journal refers to it.
        let _shared = self.store.share()?;
        let file = self.store.index(&self.root);
        let mut index = Index::load(&file);
        let Scanned { state: mut now, repositories } = self.scan(&mut index, Contents::Store)?;
        self.unkept = self.keep_objects(&repositories, &mut now);
        let current = self.journal.position();
        let known = self.journal.state();
        // What a run added beside the workspace is not undone; for the next run it is there.
        let is_known = if found { known.is_same(&now) } else { known.is_kept_by(&now) };
        if let Some(current) = current.filter(|_| is_known) {
            index.save(&file);
            return Ok(current);
        }
        let base = match current {
            None => Some(self.base(&mut index, &now)?),
            Some(_) => None,
        };
        let number = self.journal.push(label, found, now, base)?;
        index.save(&file);
        self.store.count(self.objects.take_added());
        Ok(number)
    }

    /// Keeps the objects of repositories, and notes in the state how many each has lost. Returns the
    /// reason why those of one are not kept.
    fn keep_objects(&self, repositories: &[String], state: &mut State) -> Option<String> {
        let mut problem = None;
        for repository in repositories {
            let path = self.root.join(name::to_path(repository));
            let origin = path.canonicalize().unwrap_or_else(|_| path.clone());
            let mirror = Mirror::new(&self.store.mirrors(), &origin);
            match mirror.keep(&self.name, SystemTime::now()) {
                Ok(kept) => {
                    self.store.count(kept.copied);
                    if kept.gone > 0 {
                        let (hash, size, mode, modified) = (None, kept.gone, 0, 0);
                        let lost = FileState::File { hash, size, mode, modified };
                        state.beside.insert(repository.clone(), lost);
                    }
                }
                Err(error) => problem = Some(format!("{}: {error}", path.display())),
            }
        }
        problem
    }

    /// Returns the reason why the latest checkpoint does not cover the objects of a repository.
    pub fn uncovered_repository(&self) -> Option<&str> {
        self.unkept.as_deref()
    }

    /// Returns a stored state that is close to this one: that of earlier sessions, or itself.
    fn base(&self, index: &mut Index, now: &State) -> Result<(String, State), CheckpointError> {
        let earlier = index.base.as_ref().and_then(|hash| {
            let state = journal::read_state(&self.objects, hash).ok()?;
            let changes = state.exact_changes_to(now).len();
            (changes <= now.items.len() / 4).then(|| (hash.clone(), state))
        });
        if let Some(earlier) = earlier {
            return Ok(earlier);
        }
        let hash = journal::write_state(&self.objects, now)?;
        index.set_base(hash.clone());
        Ok((hash, now.clone()))
    }

    /// Removes what is too old or does not fit, this session's oldest checkpoints last.
    fn make_room(&mut self) -> Result<(), CheckpointError> {
        loop {
            let pruned = prune(&self.sessions, &self.limits, SystemTime::now())?;
            let fits = pruned.is_none_or(|pruned| pruned.left.bytes <= self.limits.store_bytes);
            if fits || !self.journal.forget_oldest()? {
                return Ok(());
            }
        }
    }

    /// Returns the checkpoints, oldest first.
    pub fn list(&self) -> Vec<Checkpoint> {
        self.journal.list()
    }

    /// Returns the checkpoint that the workspace was last restored to: the latest, unless some were
    /// undone.
    pub fn current(&self) -> Option<usize> {
        self.journal.position()
    }

    /// Returns the differences between two checkpoints.
    pub fn diff(&self, from: usize, to: usize) -> Result<Vec<Change>, CheckpointError> {
        let from = self.journal.state_at(from)?;
        let to = self.journal.state_at(to)?;
        Ok(from.changes_to(&to))
    }

    /// Returns the differences between two checkpoints that no diff shows: of ignored files, and of the
    /// files of repositories.
    pub fn hidden_diff(&self, from: usize, to: usize) -> Result<Vec<Change>, CheckpointError> {
        let from = self.journal.state_at(from)?;
        let to = self.journal.state_at(to)?;
        Ok(from.beside_changes_to(&to).into_iter().filter(state::loses).collect())
    }

    /// Returns the checkpoints between which [`undo`](Self::undo) goes: the latest run that was not
    /// undone, and the state before it.
    pub fn undoable(&self) -> Option<(usize, usize)> {
        self.journal.last_run()
    }

    /// Returns the checkpoints between which [`redo`](Self::redo) goes.
    pub fn redoable(&self) -> Option<(usize, usize)> {
        self.journal.next_run()
    }

    /// Takes back the latest run. Files that have changed since are not touched but reported.
    pub fn undo(&mut self) -> Result<RestoreReport, CheckpointError> {
        let (run, before) = self.undoable().ok_or(CheckpointError::NothingToUndo)?;
        self.go(run, before)
    }

    /// Repeats the changes of the run that was undone last.
    pub fn redo(&mut self) -> Result<RestoreReport, CheckpointError> {
        let (before, run) = self.redoable().ok_or(CheckpointError::NothingToRedo)?;
        self.go(before, run)
    }

    /// Restores any checkpoint, from the current one. Files that have changed since the current
    /// checkpoint are not touched but reported.
    pub fn restore(&mut self, to: usize) -> Result<RestoreReport, CheckpointError> {
        let current = self.current().ok_or(CheckpointError::Unknown(to))?;
        self.go(current, to)
    }

    /// Restores some paths of a checkpoint, from the current one. The current checkpoint stays the
    /// same: take another one afterwards.
    pub fn restore_some(
        &mut self,
        to: usize,
        choose: &dyn Fn(&Change) -> Choice,
    ) -> Result<RestoreReport, CheckpointError> {
        let current = self.current().ok_or(CheckpointError::Unknown(to))?;
        self.put_back(current, to, choose)
    }

    /// Returns the content that a file had at a checkpoint, if it was stored. The path has the form
    /// of [`Change::path`].
    pub fn content(&self, at: usize, path: &str) -> Result<Option<Vec<u8>>, CheckpointError> {
        match self.journal.state_at(at)?.items.get(path) {
            Some(FileState::File { hash: Some(hash), .. }) => self.objects.read(hash).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns the state that a path had at a checkpoint. The path has the form of
    /// [`Change::path`].
    pub fn state(&self, at: usize, path: &str) -> Result<Option<FileState>, CheckpointError> {
        Ok(self.journal.state_at(at)?.items.get(path).cloned())
    }

    /// Returns the paths that a checkpoint covers, with their states.
    pub fn paths(&self, at: usize) -> Result<BTreeMap<String, FileState>, CheckpointError> {
        Ok(self.journal.state_at(at)?.items)
    }

    /// Writes the paths into an empty directory, with the states that a checkpoint had for them
    /// ([`Checkpoints::paths`]). Returns the files whose content was not stored, which are left out.
    pub fn export(
        &self,
        paths: &BTreeMap<String, FileState>,
        to: &Path,
    ) -> Result<Vec<String>, CheckpointError> {
        export::export(&self.objects, paths, to)
    }

    fn go(&mut self, from: usize, to: usize) -> Result<RestoreReport, CheckpointError> {
        let restored = self.put_back(from, to, &|_| Choice::Restore)?;
        self.journal.move_to(to)?;
        Ok(restored)
    }

    fn put_back(
        &self,
        from: usize,
        to: usize,
        choose: &dyn Fn(&Change) -> Choice,
    ) -> Result<RestoreReport, CheckpointError> {
        let expected = self.journal.state_at(from)?;
        let wanted = self.journal.state_at(to)?;
        let mut index = Index::load(&self.store.index(&self.root));
        let now = self.scan(&mut index, Contents::Skip)?.state;
        let states = restore::States { expected: &expected, wanted: &wanted, now: &now };
        let mut report = restore::restore(&self.root, &self.objects, states, choose)?;
        repository::Restoration {
            root: &self.root,
            objects: &self.objects,
            mirrors: self.store.mirrors(),
            expected: &expected.beside,
            wanted: &wanted.beside,
            choose,
            report: &mut report,
        }
        .run()?;
        Ok(report)
    }

    /// Scans the workspace.
    fn scan(&self, index: &mut Index, contents: Contents) -> Result<Scanned, CheckpointError> {
        let objects = match contents {
            Contents::Store => Some(&self.objects),
            Contents::Skip => None,
        };
        scan::scan(&self.root, self.journal.state(), index, objects, self.limits.file_bytes)
    }
}
