//! Checkpoints of a workspace, and restoring them.
//!
//! A checkpoint covers every file, directory and link below a directory, whether a tool, a shell
//! command or the user changed it. Each content is stored once, by its hash, in a store beside the
//! session; files that have not changed since the last checkpoint are not read again. Git is
//! neither used nor touched: `.git` is not part of a checkpoint, and neither are files that
//! `.gitignore` excludes (build output can be built again, and would outweigh everything else).
//! Ignored files are never removed or overwritten, not even if `.gitignore` itself changes between
//! two checkpoints.
//!
//! Content and mode are restored, hard links are not: a file with several names that was changed
//! becomes several files.
//!
//! Files above [`Limits::file_bytes`] are recorded without their content. A store above
//! [`Limits::store_bytes`] drops its oldest checkpoints first, and never the latest.

mod journal;
mod name;
mod objects;
mod restore;
mod scan;
mod state;

use std::io;
use std::path::{Path, PathBuf};

use journal::Journal;
use objects::Objects;
use scan::Index;
use state::State;

use crate::workspace::Workspace;

pub use restore::{Conflict, ConflictReason, RestoreReport};
pub use state::{Change, FileState};

/// Limits of a checkpoint store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum size of a file whose content is stored.
    pub file_bytes: u64,
    /// Maximum size of all stored contents together.
    pub store_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { file_bytes: 16 * 1024 * 1024, store_bytes: 1024 * 1024 * 1024 }
    }
}

/// Reasons why a checkpoint cannot be taken or restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// A file operation failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// Operation that failed, as a verb.
        action: &'static str,
        /// File or directory of the operation.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
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
        let path = path.into();
        move |source| Self::Io { action, path, source }
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

/// The checkpoints of one workspace.
#[derive(Debug)]
pub struct Checkpoints {
    root: PathBuf,
    limits: Limits,
    journal: Journal,
    objects: Objects,
    index: Index,
    index_file: PathBuf,
}

impl Checkpoints {
    /// Opens or creates the store in the directory `store` for the workspace `root`.
    pub fn open(store: &Path, root: &Path, limits: Limits) -> Result<Self, CheckpointError> {
        std::fs::create_dir_all(store).map_err(CheckpointError::io("create", store))?;
        let journal = Journal::open(&store.join("journal"))?;
        let objects = Objects::new(store.join("objects"));
        let index_file = store.join("index");
        // Without the contents, the index is wrong about them.
        let index = if objects.exist() { Index::load(&index_file) } else { Index::default() };
        Ok(Self { root: root.to_owned(), limits, journal, objects, index, index_file })
    }

    /// Opens or creates the store in the directory `store` for a workspace on this machine.
    pub fn of(
        store: &Path,
        workspace: &Workspace,
        limits: Limits,
    ) -> Result<Self, CheckpointError> {
        let root = workspace.executor().host_path(workspace.cwd());
        let root = root.ok_or_else(|| CheckpointError::NotLocal(workspace.cwd().to_owned()))?;
        Self::open(store, &root, limits)
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
        let now = self.scan(Contents::Store)?;
        self.index.save(&self.index_file);
        if self.journal.position().is_some() && now == *self.journal.state() {
            return Ok(self.journal.position().unwrap_or_default());
        }
        let number = self.journal.push(label, found, now)?;
        self.forget_oldest()?;
        Ok(number)
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

    /// Returns the content that a file had at a checkpoint, if it was stored. The path has the form
    /// of [`Change::path`].
    pub fn content(&self, at: usize, path: &str) -> Result<Option<Vec<u8>>, CheckpointError> {
        match self.journal.state_at(at)?.items.get(path) {
            Some(FileState::File { hash: Some(hash), .. }) => self.objects.read(hash).map(Some),
            _ => Ok(None),
        }
    }

    fn go(&mut self, from: usize, to: usize) -> Result<RestoreReport, CheckpointError> {
        let expected = self.journal.state_at(from)?;
        let wanted = self.journal.state_at(to)?;
        let now = self.scan(Contents::Skip)?;
        let restored = restore::restore(&self.root, &self.objects, &expected, &wanted, &now)?;
        self.journal.move_to(to)?;
        Ok(restored)
    }

    /// Scans the workspace.
    fn scan(&mut self, contents: Contents) -> Result<State, CheckpointError> {
        let objects = match contents {
            Contents::Store => Some(&self.objects),
            Contents::Skip => None,
        };
        let known = self.journal.state();
        scan::scan(&self.root, known, &mut self.index, objects, self.limits.file_bytes)
    }

    fn forget_oldest(&mut self) -> Result<(), CheckpointError> {
        while self.objects.size()? > self.limits.store_bytes && self.journal.forget_oldest()? {
            self.objects.keep_only(&self.journal.hashes())?;
            // Contents that the index refers to may be gone.
            self.index = Index::default();
        }
        Ok(())
    }
}
