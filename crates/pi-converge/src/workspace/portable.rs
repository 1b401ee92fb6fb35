//! The state of a workspace in the run directory, so that a run can be resumed on another machine.
//!
//! Saved are the hashes of all files at the start, and both contents of every file that has changed.
//! A run is resumed in a workspace that is as the run left it, or as it was at the start.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use pi_fs::if_exists;
use pi_tools::checkpoint::{Checkpoints, FileState, Limits};
use serde::{Deserialize, Serialize};

use super::bring_back::{remove, set_mode};
use super::{RunWorkspace, WorkspaceError, WorkspacePlaces, copy};
use crate::contract::{WorkspaceMode, WorkspacePlan};

const DIRECTORY: &str = "workspace";
const STATE: &str = "state.json";

type Paths = BTreeMap<String, FileState>;

/// The saved state of a workspace.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SavedWorkspace {
    /// All paths at the start.
    start: Paths,
    /// The paths that changed since.
    changes: BTreeMap<String, SavedChange>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SavedChange {
    before: Option<FileState>,
    after: Option<FileState>,
}

/// The side of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

impl SavedChange {
    fn state(&self, side: Side) -> Option<&FileState> {
        match side {
            Side::Before => self.before.as_ref(),
            Side::After => self.after.as_ref(),
        }
    }
}

/// The reasons why a run is not resumed in a workspace.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AdoptError {
    /// Paths that are neither as the run left them nor as they were at the start.
    #[error("the workspace differs")]
    Differs(Vec<String>),
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

impl RunWorkspace {
    /// Saves the state in the run directory. Returns the files that are too large to be saved.
    pub(crate) fn save(&self, run_directory: &Path) -> Result<Vec<String>, WorkspaceError> {
        let directory = run_directory.join(DIRECTORY);
        let mut checkpoints = self.checkpoints();
        let now = checkpoints.take("suspended")?;
        let start = checkpoints.paths(self.baseline)?;
        let mut saved = SavedWorkspace { start, changes: BTreeMap::new() };
        let mut lost = Vec::new();
        for change in checkpoints.diff(self.baseline, now)? {
            let sides = [(&change.before, self.baseline), (&change.after, now)];
            for (state, number) in sides {
                let Some(FileState::File { hash, .. }) = state else { continue };
                let content = checkpoints.content(number, &change.path)?;
                match (hash, content) {
                    (Some(hash), Some(content)) => write(&directory.join(hash), &content)?,
                    _ => lost.push(change.path.clone()),
                }
            }
            let sides = SavedChange { before: change.before, after: change.after };
            saved.changes.insert(change.path, sides);
        }
        let text = serde_json::to_vec(&saved).map_err(std::io::Error::from);
        let path = directory.join(STATE);
        write(&path, &text.map_err(WorkspaceError::io("write", &path))?)?;
        Ok(lost)
    }

    /// Forgets the saved state: the run continues and changes the workspace.
    pub(crate) fn forget_saved(run_directory: &Path) -> Result<(), WorkspaceError> {
        let directory = run_directory.join(DIRECTORY);
        let removed = if_exists(std::fs::remove_dir_all(&directory));
        removed.map(drop).map_err(WorkspaceError::io("remove", &directory))
    }
}

/// Makes the workspace of a run that is resumed what it was when the run ended. Does nothing if no
/// state was saved, because the process was killed.
pub(crate) fn adopt(
    plan: &WorkspacePlan,
    places: &WorkspacePlaces,
    attempt: u32,
) -> Result<(), AdoptError> {
    let directory = places.run_directory.join(DIRECTORY);
    let Some(saved) = read(&directory.join(STATE))? else { return Ok(()) };
    // Without the checkpoints, the start of the run has to be stored again.
    let store = places.checkpoints_of(attempt);
    let is_known = store.join("journal").exists();
    // A worktree or a copy that does not exist here is made again, as it was at the start.
    let own = match plan.mode {
        WorkspaceMode::InPlace => None,
        WorkspaceMode::Worktree | WorkspaceMode::Copy => {
            Some(RunWorkspace::prepare(plan, places, attempt)?)
        }
    };
    let root = match &own {
        Some(workspace) => workspace.root().to_owned(),
        None => places.origin.join(plan.directory.as_deref().unwrap_or(Path::new("."))),
    };
    let root = root.canonicalize().map_err(WorkspaceError::io("find", &root))?;
    let found = scan(&root, &places.run_directory)?;
    let differences = saved.differences(&found, Side::After);
    if differences.is_empty() {
        if !is_known && own.is_none() {
            saved.apply(&directory, &root, Side::Before)?;
            let stored = RunWorkspace::prepare(plan, places, attempt);
            saved.apply(&directory, &root, Side::After)?;
            stored?;
        }
        return Ok(());
    }
    if !saved.differences(&found, Side::Before).is_empty() {
        if let Some(workspace) = own
            && !is_known
        {
            workspace.remove()?;
            drop(workspace);
            std::fs::remove_dir_all(&store).map_err(WorkspaceError::io("remove", &store))?;
        }
        return Err(AdoptError::Differs(differences));
    }
    if own.is_none() {
        RunWorkspace::prepare(plan, places, attempt)?;
    }
    saved.apply(&directory, &root, Side::After)?;
    Ok(())
}

impl SavedWorkspace {
    /// Returns the paths that differ from one side.
    fn differences(&self, found: &Paths, side: Side) -> Vec<String> {
        let expected = |path: &String| match self.changes.get(path) {
            Some(change) => change.state(side),
            None => self.start.get(path),
        };
        let paths: BTreeSet<&String> =
            self.start.keys().chain(self.changes.keys()).chain(found.keys()).collect();
        paths
            .into_iter()
            .filter(|path| !is_same(expected(path), found.get(*path)))
            .map(|path| path.escape_debug().to_string())
            .collect()
    }

    /// Writes one side of all changes.
    fn apply(&self, saved: &Path, root: &Path, side: Side) -> Result<(), WorkspaceError> {
        let (removed, written): (Vec<_>, Vec<_>) =
            self.changes.iter().partition(|(_, change)| change.state(side).is_none());
        // Removals from the innermost path outward, then the rest from the outermost inward.
        for (path, change) in removed.into_iter().rev().chain(written) {
            let path = root.join(path);
            let failed = |action| WorkspaceError::io(action, &path);
            match change.state(side) {
                None => remove(&path).map_err(failed("remove"))?,
                Some(FileState::Link { target }) => {
                    remove(&path).map_err(failed("remove"))?;
                    copy::link(Path::new(target), &path).map_err(failed("create"))?;
                }
                Some(FileState::File { hash: Some(hash), mode, .. }) => {
                    let content = std::fs::read(saved.join(hash)).map_err(failed("restore"))?;
                    if path.is_symlink() || path.is_dir() {
                        remove(&path).map_err(failed("remove"))?;
                    }
                    pi_fs::replace(&path, &content).map_err(failed("write"))?;
                    set_mode(&path, *mode).map_err(failed("write"))?;
                }
                // The content was too large to be saved, which `RunWorkspace::save` has reported.
                Some(FileState::File { hash: None, .. }) => {}
                Some(_) => std::fs::create_dir_all(&path).map_err(failed("create"))?,
            }
        }
        Ok(())
    }
}

/// Returns true if two states have the same content. Directories and times do not matter, since git
/// has neither; of the mode only whether the file can be executed.
fn is_same(expected: Option<&FileState>, found: Option<&FileState>) -> bool {
    let is_content = |state: &&FileState| !matches!(state, FileState::Directory { .. });
    match (expected.filter(is_content), found.filter(is_content)) {
        (None, None) => true,
        (Some(FileState::Link { target: one }), Some(FileState::Link { target: other })) => {
            one == other
        }
        (
            Some(FileState::File { hash: one, size, mode, .. }),
            Some(FileState::File { hash: other, size: other_size, mode: other_mode, .. }),
        ) => {
            let is_executable = |mode: u32| mode & 0o100 != 0;
            one == other && size == other_size && is_executable(*mode) == is_executable(*other_mode)
        }
        _ => false,
    }
}

/// Returns the states of all paths of a directory.
fn scan(root: &Path, run_directory: &Path) -> Result<Paths, WorkspaceError> {
    let scan = run_directory.join("scan");
    let scanned = || -> Result<Paths, WorkspaceError> {
        let mut checkpoints = Checkpoints::open(&scan.join("now"), root, Limits::default())?;
        let number = checkpoints.take_found()?;
        Ok(checkpoints.paths(number)?)
    };
    let paths = scanned();
    // What remains is removed by the next scan, too.
    let _ = std::fs::remove_dir_all(&scan);
    paths
}

fn read(path: &PathBuf) -> Result<Option<SavedWorkspace>, WorkspaceError> {
    let text = if_exists(std::fs::read(path)).map_err(WorkspaceError::io("read", path))?;
    let Some(text) = text else { return Ok(None) };
    let saved = serde_json::from_slice(&text).map_err(std::io::Error::from);
    saved.map(Some).map_err(WorkspaceError::io("read", path))
}

fn write(path: &Path, content: &[u8]) -> Result<(), WorkspaceError> {
    super::create_parent(path)?;
    pi_fs::replace(path, content).map_err(WorkspaceError::io("write", path))
}
