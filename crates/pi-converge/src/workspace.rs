//! The directory in which an attempt works: prepared, compared with its start, brought back or
//! undone.
//!
//! The state at the start is a checkpoint, so that changes of the user that were not committed
//! belong to it and survive a rollback. Files that git ignores are not part of it: a rollback leaves
//! them, and the list of changes does not have them.

mod bring_back;
mod changed_by_agent;
mod changes;
mod claim;
mod copy;
mod diff;
mod export;
mod hidden;
mod ignored;
mod portable;
mod worktree;
mod written;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use pi_base::lock;
use pi_coding_agent::guard::ChangeObserver;
use pi_fs::FileError;
use pi_tools::checkpoint::{
    Change, CheckpointError, Checkpoints, Choice, FileState, Limits, RestoreReport,
};

use crate::contract::{WorkspaceMode, WorkspacePlan};
use crate::globs::Pattern;
use changed_by_agent::ChangedByAgent;

pub use bring_back::BroughtBack;
pub use changes::{ChangedFile, Changes, SavedPatch};
pub(crate) use claim::Claim;
pub(crate) use copy::{copy_file, link};
pub(crate) use export::Content;
pub(crate) use ignored::IgnoredFiles;
pub(crate) use portable::{AdoptError, adopt};

/// Reasons why a workspace cannot be prepared, compared or undone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// The directory does not exist.
    #[error("the workspace {} is not a directory", .0.display())]
    NotADirectory(PathBuf),
    /// The directory contains the home directory, which is too much for checkpoints and copies.
    #[error("the workspace {} contains the home directory; use a project directory", .0.display())]
    TooWide(PathBuf),
    /// The directory of the agent is in the workspace, where a run could change it.
    #[error(
        "the workspace {} contains {}, where pi keeps its own files; choose a directory outside of \
         it for them",
        .workspace.display(), .own.display()
    )]
    #[allow(missing_docs, reason = "the message says it")]
    HasOwnFiles { workspace: PathBuf, own: PathBuf },
    /// Another run works in the directory.
    #[error(
        "another run works in {}; wait until it has ended, or let this one work in a worktree or a \
         copy",
        .0.display()
    )]
    InUse(PathBuf),
    /// Git cannot create or remove a worktree.
    #[error("the git worktree cannot be used: {0}")]
    Git(String),
    /// A pattern of results is invalid.
    #[error("invalid pattern: {0}")]
    Pattern(globset::Error),
    /// A file operation failed.
    #[error(transparent)]
    Io(#[from] FileError),
    /// The state of the workspace cannot be stored or restored.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
}

impl WorkspaceError {
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        FileError::at(action, path)
    }
}

/// The places that a workspace needs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WorkspacePlaces {
    /// The directory of the user, as an absolute path.
    pub origin: PathBuf,
    /// The home directory of the user.
    pub home: Option<PathBuf>,
    /// The directory in which the program keeps its own files.
    pub own: Option<PathBuf>,
    /// The directory of the run.
    pub run_directory: PathBuf,
    /// The directory for worktrees and copies. A sandbox must be able to make it writable, so it is
    /// not in the directory of the agent.
    pub workspaces: PathBuf,
    /// The directory of the checkpoints of this run. Its siblings share their contents.
    pub checkpoints: PathBuf,
    /// Patterns of files that belong to the result although git ignores them.
    pub results: Vec<String>,
}

impl WorkspacePlaces {
    /// Returns the places of a run.
    pub fn new(
        origin: impl Into<PathBuf>,
        run_directory: impl Into<PathBuf>,
        checkpoints: impl Into<PathBuf>,
    ) -> Self {
        let (origin, home, own) = (origin.into(), None, None);
        let (run_directory, checkpoints) = (run_directory.into(), checkpoints.into());
        let (workspaces, results) = (run_directory.join("workspaces"), Vec::new());
        Self { origin, home, own, run_directory, workspaces, checkpoints, results }
    }

    /// Returns the directory of the checkpoints of an attempt.
    fn checkpoints_of(&self, attempt: u32) -> PathBuf {
        let mut name = self.checkpoints.file_name().unwrap_or_default().to_owned();
        name.push(format!("-attempt-{attempt}"));
        self.checkpoints.with_file_name(name)
    }
}

/// The workspace of one attempt. Clones are the same workspace.
#[derive(Debug, Clone)]
pub struct RunWorkspace {
    origin: PathBuf,
    root: PathBuf,
    kind: Kind,
    notes: Vec<String>,
    checkpoints: Arc<Mutex<Checkpoints>>,
    baseline: usize,
    /// Directory for rooms.
    rooms: PathBuf,
    ignored: Arc<IgnoredFiles>,
    changed: ChangedByAgent,
    /// Content of `.git/info/exclude` at the start.
    exclude: String,
    /// Patterns of ignored files that belong to the result.
    results: Vec<Pattern>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    InPlace,
    Worktree(PathBuf),
    Copy(PathBuf),
}

impl RunWorkspace {
    /// Prepares the workspace of an attempt, or opens the one that an interrupted run left.
    pub fn prepare(
        plan: &WorkspacePlan,
        places: &WorkspacePlaces,
        attempt: u32,
    ) -> Result<Self, WorkspaceError> {
        let origin = match &plan.directory {
            Some(directory) => places.origin.join(directory),
            None => places.origin.clone(),
        };
        let origin =
            origin.canonicalize().map_err(|_| WorkspaceError::NotADirectory(origin.clone()))?;
        if !origin.is_dir() {
            return Err(WorkspaceError::NotADirectory(origin));
        }
        let has_home = places.home.as_ref().is_some_and(|home| home.starts_with(&origin));
        if has_home || origin.parent().is_none() {
            return Err(WorkspaceError::TooWide(origin));
        }
        let own = places.own.as_ref().and_then(|own| own.canonicalize().ok());
        if let Some(own) = own.filter(|own| own.starts_with(&origin)) {
            return Err(WorkspaceError::HasOwnFiles { workspace: origin, own });
        }
        let directory = places.workspaces.join(attempt.to_string());
        let (root, kind, notes) = match plan.mode {
            WorkspaceMode::InPlace => (origin.clone(), Kind::InPlace, Vec::new()),
            WorkspaceMode::Worktree => {
                create_parent(&directory)?;
                let base = plan.base.as_deref().unwrap_or("HEAD");
                let worktree = worktree::add(&origin, &directory, base)?;
                (worktree.root, Kind::Worktree(worktree.top), worktree.notes)
            }
            WorkspaceMode::Copy => {
                create_parent(&directory)?;
                let notes = copied(&origin, &directory, &places.workspaces)?;
                (directory.clone(), Kind::Copy(directory), notes)
            }
        };
        let root = root.canonicalize().map_err(WorkspaceError::io("find", &root))?;
        let store = places.checkpoints_of(attempt);
        let mut checkpoints = Checkpoints::open(&store, &root, Limits::default())?;
        let baseline = match checkpoints.list().first() {
            Some(first) => first.number,
            None => checkpoints.take_found()?,
        };
        let checkpoints = Arc::new(Mutex::new(checkpoints));
        let exclude = stored_exclude(&root, &places.run_directory)?;
        let file = places.run_directory.join("ignored.json");
        let ignored = Arc::new(IgnoredFiles::record(&origin, &file, &places.workspaces)?);
        let rooms = places.workspaces.join("rooms");
        let record = places.run_directory.join(format!("written-{attempt}.jsonl"));
        let changed = ChangedByAgent::open(&root, &record, &checkpoints)?;
        Ok(Self {
            origin,
            root,
            kind,
            notes,
            checkpoints,
            baseline,
            rooms,
            ignored,
            changed,
            exclude,
            results: Pattern::all(&places.results).map_err(WorkspaceError::Pattern)?,
        })
    }

    /// Returns the directory for the rooms in which the changes of this workspace are checked.
    pub(crate) fn rooms(&self) -> &Path {
        &self.rooms
    }

    /// Returns the ignored files of the user, as they were at the start.
    pub(crate) fn ignored(&self) -> Arc<IgnoredFiles> {
        Arc::clone(&self.ignored)
    }

    /// Removes the stored ignored files of the user, which may have secrets.
    pub(crate) fn forget_ignored(&self, run_directory: &Path) {
        // A directory that stays is as private as the run.
        let _ = remove_all(&run_directory.join("ignored.files"));
    }

    /// Returns the directory in which the agent works.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the directory of the user.
    pub fn origin(&self) -> &Path {
        &self.origin
    }

    /// Returns what differs between the workspace and the directory of the user.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns true if the agent works in the directory of the user.
    pub fn is_in_place(&self) -> bool {
        self.kind == Kind::InPlace
    }

    /// Returns the commit of the user's directory, if it is in a git repository.
    pub fn commit(&self) -> Option<String> {
        worktree::commit(&self.origin)
    }

    /// Undoes the changes of the agent since the start. What another program changed stays; paths
    /// that both changed, and files that no checkpoint has, are reported.
    pub fn rollback(&self) -> Result<RestoreReport, WorkspaceError> {
        let mut checkpoints = self.checkpoints();
        checkpoints.take("before the rollback")?;
        let choose = |change: &Change| self.changed.choose(change);
        let report = checkpoints.restore_some(self.baseline, &choose)?;
        checkpoints.take("after the rollback")?;
        drop(checkpoints);
        self.changed.undone()?;
        Ok(report)
    }

    /// Returns the observer of the changes that an agent makes in the workspace.
    pub fn observer(&self) -> ChangeObserver {
        self.changed.observer()
    }

    /// Stores the state of the workspace and returns its number.
    pub fn take(&self, label: &str) -> Result<usize, WorkspaceError> {
        Ok(self.checkpoints().take(label)?)
    }

    /// Repeats the changes of the agent up to a state, after a rollback. A path that another program
    /// has changed since the start is reported and stays.
    pub fn reapply(&self, state: usize) -> Result<RestoreReport, WorkspaceError> {
        let mut checkpoints = self.checkpoints();
        let now = checkpoints.take("before the best attempt")?;
        let mut changes = checkpoints.diff(self.baseline, now)?;
        changes.extend(checkpoints.hidden_diff(self.baseline, now)?);
        let foreign: BTreeSet<String> = changes.into_iter().map(|change| change.path).collect();
        let choose = |change: &Change| match self.changed.has_ever(&change.path) {
            true if foreign.contains(&change.path) => Choice::Conflict,
            true => Choice::Restore,
            false => Choice::Leave,
        };
        let report = checkpoints.restore_some(state, &choose)?;
        checkpoints.take("the best attempt")?;
        Ok(report)
    }

    /// Returns the paths at the start, with their states.
    pub fn baseline(&self) -> Result<Vec<(String, FileState)>, WorkspaceError> {
        Ok(self.checkpoints().paths(self.baseline)?.into_iter().collect())
    }

    /// Removes a worktree or a copy.
    pub fn remove(&self) -> Result<(), WorkspaceError> {
        let directory = match &self.kind {
            Kind::InPlace => return Ok(()),
            Kind::Worktree(top) => {
                worktree::remove(&self.origin, top)?;
                top
            }
            Kind::Copy(directory) => {
                make_removable(directory);
                let removed = std::fs::remove_dir_all(directory);
                removed.map_err(WorkspaceError::io("remove", directory))?;
                directory
            }
        };
        if let Some(parent) = directory.parent() {
            // It stays while it has the workspaces of other attempts.
            let _ = std::fs::remove_dir(parent);
        }
        Ok(())
    }

    fn checkpoints(&self) -> MutexGuard<'_, Checkpoints> {
        lock(&self.checkpoints)
    }
}

/// Returns the content of `.git/info/exclude` at the start of the run, and stores it for a run that
/// is resumed.
fn stored_exclude(root: &Path, run_directory: &Path) -> Result<String, WorkspaceError> {
    let stored = run_directory.join("exclude");
    if let Ok(text) = std::fs::read_to_string(&stored) {
        return Ok(text);
    }
    let text = current_exclude(root);
    create_parent(&stored)?;
    std::fs::write(&stored, &text).map_err(WorkspaceError::io("write", &stored))?;
    Ok(text)
}

fn current_exclude(root: &Path) -> String {
    std::fs::read_to_string(root.join(".git/info/exclude")).unwrap_or_default()
}

fn create_parent(directory: &Path) -> Result<(), WorkspaceError> {
    let parent = directory.parent().unwrap_or(directory);
    std::fs::create_dir_all(parent).map_err(WorkspaceError::io("create", parent))
}

/// Copies a directory. The copy gets its name when it is complete, so that an interrupted one is
/// not taken for the whole.
fn copied(from: &Path, to: &Path, skipped: &Path) -> Result<Vec<String>, WorkspaceError> {
    if to.exists() {
        return Ok(Vec::new());
    }
    let partial = to.with_extension("partial");
    if partial.exists() {
        std::fs::remove_dir_all(&partial).map_err(WorkspaceError::io("remove", &partial))?;
    }
    let skipped = skipped.canonicalize().unwrap_or_else(|_| skipped.to_owned());
    let notes = copy::copy_directory(from, &partial, &skipped);
    let notes = notes.map_err(WorkspaceError::io("copy", from))?;
    std::fs::rename(&partial, to).map_err(WorkspaceError::io("create", to))?;
    Ok(notes)
}

/// Removes a directory with everything in it, also if a command made parts of it read-only.
pub(crate) fn remove_all(directory: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(_) => {
            make_removable(directory);
            std::fs::remove_dir_all(directory)
        }
        Ok(()) => Ok(()),
    }
}

/// Makes directories writable, so that their entries can be removed.
fn make_removable(directory: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mut directories = vec![directory.to_owned()];
        while let Some(directory) = directories.pop() {
            let _ = std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o700));
            let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
            let inner = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            directories.extend(inner.map(|entry| entry.path()));
        }
    }
    #[cfg(not(unix))]
    let _ = directory;
}
