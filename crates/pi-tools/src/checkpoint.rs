//! Checkpoints: what a workspace looked like, to be restored.
//!
//! A checkpoint covers every file, directory and link below a directory, whoever changed it: a
//! tool, a shell command, the user. Contents are kept once, by their hash, in a store beside the
//! session; what has not changed since the last checkpoint is not read again. The user's git is
//! neither used nor touched: `.git` is not part of a checkpoint, and neither is what `.gitignore`
//! excludes (build output can be built again, and would drown the rest). What is ignored is never
//! removed or written over, also not when `.gitignore` itself changes from one checkpoint to another.
//!
//! A name gets back its content and mode, not its other names: a file with several names that was
//! changed is several files after a restoration.
//!
//! Policy, stated: a file above [`Limits::file_bytes`] is remembered but its content is not; a
//! store above [`Limits::store_bytes`] forgets its oldest checkpoints first, never the latest.

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

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Contents of files above this are not kept.
    pub file_bytes: u64,
    /// The size of all contents together.
    pub store_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { file_bytes: 16 * 1024 * 1024, store_bytes: 1024 * 1024 * 1024 }
    }
}

/// Why a checkpoint could not be taken or restored.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is no such checkpoint, or it has been forgotten.
    #[error("there is no checkpoint {0}")]
    Unknown(usize),
    /// The workspace is on an executor whose files this process cannot reach.
    #[error("checkpoints are only for workspaces on this machine; {} is elsewhere", .0.display())]
    NotLocal(PathBuf),
    /// The current checkpoint is the oldest one.
    #[error("there is nothing to undo")]
    NothingToUndo,
    /// The current checkpoint is the latest one.
    #[error("there is nothing to redo")]
    NothingToRedo,
}

impl CheckpointError {
    fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}

/// One checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its number; later ones have higher numbers.
    pub number: usize,
    /// What it was taken for.
    pub label: String,
    /// How many files, directories and links differ from the checkpoint before.
    pub changes: usize,
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
    /// Opens or creates the store `store` for the workspace `root`.
    pub fn open(store: &Path, root: &Path, limits: Limits) -> Result<Self, CheckpointError> {
        std::fs::create_dir_all(store).map_err(CheckpointError::io("create", store))?;
        let journal = Journal::open(&store.join("journal"))?;
        let objects = Objects::new(store.join("objects"));
        let index_file = store.join("index");
        // Without contents, what it says of them is not true.
        let index = if objects.exist() { Index::load(&index_file) } else { Index::default() };
        Ok(Self { root: root.to_owned(), limits, journal, objects, index, index_file })
    }

    /// Opens or creates the store `store` for a workspace, which has to be on this machine.
    pub fn of(
        store: &Path,
        workspace: &Workspace,
        limits: Limits,
    ) -> Result<Self, CheckpointError> {
        let root = workspace.executor().host_path(workspace.cwd());
        let root = root.ok_or_else(|| CheckpointError::NotLocal(workspace.cwd().to_owned()))?;
        Self::open(store, &root, limits)
    }

    /// Takes a checkpoint and returns its number. If nothing has changed since the last one, that
    /// one is it.
    pub fn take(&mut self, label: &str) -> Result<usize, CheckpointError> {
        let now = self.look(true)?;
        self.index.save(&self.index_file);
        if self.journal.position().is_some() && now == *self.journal.state() {
            return Ok(self.journal.position().unwrap_or_default());
        }
        let number = self.journal.push(label, now)?;
        self.forget_oldest()?;
        Ok(number)
    }

    /// The checkpoints, oldest first.
    pub fn list(&self) -> Vec<Checkpoint> {
        self.journal.list()
    }

    /// The checkpoint that the workspace was last brought to: the latest, unless some were undone.
    pub fn current(&self) -> Option<usize> {
        self.journal.position()
    }

    /// Returns the differences between two checkpoints.
    pub fn diff(&self, from: usize, to: usize) -> Result<Vec<Change>, CheckpointError> {
        let from = self.journal.state_at(from)?;
        let to = self.journal.state_at(to)?;
        Ok(from.changes_to(&to))
    }

    /// Goes back to the checkpoint before the current one. What somebody else has changed since
    /// is left alone and reported.
    pub fn undo(&mut self) -> Result<RestoreReport, CheckpointError> {
        let at = self.journal.position().ok_or(CheckpointError::NothingToUndo)?;
        let before = self.journal.before(at).ok_or(CheckpointError::NothingToUndo)?;
        self.go(at, before)
    }

    /// Goes to the checkpoint after the current one, from which `undo` came.
    pub fn redo(&mut self) -> Result<RestoreReport, CheckpointError> {
        let at = self.journal.position().ok_or(CheckpointError::NothingToRedo)?;
        let after = self.journal.after(at).ok_or(CheckpointError::NothingToRedo)?;
        self.go(at, after)
    }

    /// The content that a file had at a checkpoint, if it was kept. The path is written as in
    /// [`Change::path`].
    pub fn content(&self, at: usize, path: &str) -> Result<Option<Vec<u8>>, CheckpointError> {
        match self.journal.state_at(at)?.items.get(path) {
            Some(FileState::File { hash: Some(hash), .. }) => self.objects.read(hash).map(Some),
            _ => Ok(None),
        }
    }

    fn go(&mut self, from: usize, to: usize) -> Result<RestoreReport, CheckpointError> {
        let expected = self.journal.state_at(from)?;
        let wanted = self.journal.state_at(to)?;
        let now = self.look(false)?;
        let restored = restore::restore(&self.root, &self.objects, &expected, &wanted, &now)?;
        self.journal.move_to(to)?;
        Ok(restored)
    }

    /// Looks at the workspace. With `keep`, contents that are new go to the store.
    fn look(&mut self, keep: bool) -> Result<State, CheckpointError> {
        let objects = keep.then_some(&self.objects);
        let known = self.journal.state();
        scan::scan(&self.root, known, &mut self.index, objects, self.limits.file_bytes)
    }

    fn forget_oldest(&mut self) -> Result<(), CheckpointError> {
        while self.objects.size()? > self.limits.store_bytes && self.journal.forget_oldest()? {
            self.objects.keep_only(&self.journal.hashes())?;
            // What it says about the store is no longer true.
            self.index = Index::default();
        }
        Ok(())
    }
}
