//! Bringing the result of a worktree or a copy to the directory of the user.
//!
//! Nothing is merged: a file is written only if the user's directory has it as it was at the start,
//! and all files are written or none.

use std::path::{Path, PathBuf};

use pi_tools::checkpoint::{Change, Checkpoints, FileState};

use super::{RunWorkspace, WorkspaceError, copy};

/// The result of bringing changes back.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BroughtBack {
    /// The directory of the user has the changes.
    Applied,
    /// These paths are different in the directory of the user, so that nothing was written.
    Conflicts(Vec<String>),
}

impl RunWorkspace {
    /// Writes the changes since the start to the directory of the user.
    pub fn bring_back(&self) -> Result<BroughtBack, WorkspaceError> {
        if self.is_in_place() {
            return Ok(BroughtBack::Applied);
        }
        let hidden: Vec<String> = self.changes()?.hidden().map(str::to_owned).collect();
        let mut checkpoints = self.checkpoints();
        let state = checkpoints.take("result")?;
        let changes = checkpoints.diff(self.baseline, state)?;
        let conflicts: Vec<String> = changes
            .iter()
            .filter(|change| {
                let there = self.origin.join(&change.path);
                is_behind_link(&self.origin, &there)
                    || !is_same(&checkpoints, self.baseline, change, &there)
                    || matches!(change.after, Some(FileState::File { hash: None, .. }))
            })
            .map(|change| change.path.clone())
            .chain(hidden.iter().filter(|path| self.is_theirs(path)).cloned())
            .collect();
        if !conflicts.is_empty() {
            return Ok(BroughtBack::Conflicts(conflicts));
        }
        // Removals from the innermost path outward, then the rest from the outermost inward.
        let (removed, written): (Vec<_>, Vec<_>) =
            changes.iter().partition(|change| change.after.is_none());
        for change in removed.into_iter().rev().chain(written) {
            self.write(&checkpoints, state, change)?;
        }
        for path in &hidden {
            let (from, to) = (self.root.join(path), self.origin.join(path));
            let parent = to.parent().unwrap_or(&to);
            std::fs::create_dir_all(parent).map_err(WorkspaceError::io("create", parent))?;
            remove(&to).map_err(WorkspaceError::io("remove", &to))?;
            copy::copy_file(&from, &to).map_err(WorkspaceError::io("write", &to))?;
        }
        Ok(BroughtBack::Applied)
    }

    /// Returns true if the user's directory has another file at the path of an ignored result.
    fn is_theirs(&self, path: &str) -> bool {
        let there = self.origin.join(path);
        let exists = std::fs::symlink_metadata(&there).is_ok();
        is_behind_link(&self.origin, &there) || exists && !self.ignored.is_unchanged(path)
    }

    fn write(
        &self,
        checkpoints: &Checkpoints,
        state: usize,
        change: &Change,
    ) -> Result<(), WorkspaceError> {
        let path = self.origin.join(&change.path);
        let failed = |action| WorkspaceError::io(action, &path);
        let is_file = |state: &Option<FileState>| matches!(state, Some(FileState::File { .. }));
        // A file that stays a file is replaced, so that no reader misses it.
        if !(is_file(&change.before) && is_file(&change.after)) {
            remove(&path).map_err(failed("remove"))?;
        }
        match &change.after {
            None => Ok(()),
            Some(FileState::Link { target }) => {
                copy::link(Path::new(target), &path).map_err(failed("create"))
            }
            Some(FileState::File { mode, .. }) => {
                let content = checkpoints.content(state, &change.path)?.unwrap_or_default();
                pi_fs::replace(&path, &content).map_err(failed("write"))?;
                set_mode(&path, *mode).map_err(failed("write"))
            }
            // A kind that is not known is a directory.
            Some(_) => std::fs::create_dir_all(&path).map_err(failed("create")),
        }
    }
}

fn is_behind_link(root: &Path, path: &Path) -> bool {
    path.ancestors().skip(1).take_while(|above| *above != root).any(Path::is_symlink)
}

/// Returns true if a path of the user's directory is as it was at the start of the workspace.
fn is_same(checkpoints: &Checkpoints, baseline: usize, change: &Change, there: &PathBuf) -> bool {
    let found = std::fs::symlink_metadata(there);
    match (&change.before, found) {
        (None, Err(error)) => error.kind() == std::io::ErrorKind::NotFound,
        // A directory that both have created holds no content of its own.
        (None, Ok(found)) => {
            found.is_dir() && matches!(change.after, Some(FileState::Directory { .. }))
        }
        (Some(FileState::Directory { .. }), Ok(found)) => found.is_dir(),
        (Some(FileState::Link { target }), Ok(found)) => {
            found.is_symlink()
                && std::fs::read_link(there).is_ok_and(|link| link == Path::new(target))
        }
        (Some(FileState::File { .. }), Ok(found)) => {
            let before = checkpoints.content(baseline, &change.path).ok().flatten();
            found.is_file() && before.is_some() && std::fs::read(there).ok() == before
        }
        _ => false,
    }
}

pub(super) fn remove(path: &Path) -> std::io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => match std::fs::remove_dir(path) {
            // Files that are not part of the result stay, and their directory with them.
            Err(error) if error.kind() == std::io::ErrorKind::DirectoryNotEmpty => Ok(()),
            done => done,
        },
        Ok(_) => std::fs::remove_file(path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
pub(super) fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
pub(super) fn set_mode(_: &Path, _: u32) -> std::io::Result<()> {
    Ok(())
}
