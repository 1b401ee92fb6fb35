//! Git worktrees: created for an attempt, removed afterwards.
//!
//! Git runs without hooks. The index and the branch of the user's working tree are not touched.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use pi_base::process::{Rights, Variables, command};

use super::WorkspaceError;

/// A git worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Worktree {
    /// Top directory of the worktree.
    pub(super) top: PathBuf,
    /// The directory in it that corresponds to the user's.
    pub(super) root: PathBuf,
    /// What is not part of the worktree.
    pub(super) notes: Vec<String>,
}

/// Creates a worktree of the repository that contains `origin`, at the commit `base`.
pub(super) fn add(origin: &Path, top: &Path, base: &str) -> Result<Worktree, WorkspaceError> {
    let prefix = git(origin, ["rev-parse", "--show-prefix"])?;
    if base.starts_with('-') {
        return Err(WorkspaceError::Git(format!("{base:?} is not a commit")));
    }
    if !top.exists() {
        let commit = git(
            origin,
            ["rev-parse", "--verify", "--end-of-options", &format!("{base}^{{commit}}")],
        )?;
        let add: [&OsStr; 5] = [
            "worktree".as_ref(),
            "add".as_ref(),
            "--detach".as_ref(),
            top.as_ref(),
            commit.as_ref(),
        ];
        git(origin, add)?;
    }
    let root = if prefix.is_empty() { top.to_owned() } else { top.join(&prefix) };
    if !root.is_dir() {
        return Err(WorkspaceError::Git(format!(
            "the directory {prefix} does not exist in {base}"
        )));
    }
    Ok(Worktree { top: top.to_owned(), root, notes: notes(origin, base)? })
}

/// Removes a worktree with everything in it.
pub(super) fn remove(origin: &Path, top: &Path) -> Result<(), WorkspaceError> {
    let remove: [&OsStr; 5] = [
        "worktree".as_ref(),
        "remove".as_ref(),
        "--force".as_ref(),
        "--force".as_ref(),
        top.as_ref(),
    ];
    git(origin, remove).map(drop)
}

/// Returns the commit of a directory, if it is in a git repository with one.
pub(super) fn commit(directory: &Path) -> Option<String> {
    git(directory, ["rev-parse", "--verify", "HEAD"]).ok()
}

/// Describes what the user's directory has and the worktree does not.
fn notes(origin: &Path, base: &str) -> Result<Vec<String>, WorkspaceError> {
    let mut notes = Vec::new();
    let status = git(origin, ["status", "--porcelain", "--untracked-files=normal", "--", "."])?;
    let changed = status.lines().count();
    if changed > 0 {
        notes.push(format!(
            "{changed} uncommitted or untracked path(s) of {} are not part of the worktree, which is {base}",
            origin.display()
        ));
    }
    let submodules = git(origin, ["submodule", "status"]).unwrap_or_default();
    for name in submodules.lines().filter_map(|line| line.get(1..)?.split(' ').nth(1)) {
        notes.push(format!("the submodule {name} is empty in the worktree"));
    }
    Ok(notes)
}

/// Runs git without hooks and returns its output.
fn git<A: AsRef<OsStr>>(
    directory: &Path,
    arguments: impl IntoIterator<Item = A>,
) -> Result<String, WorkspaceError> {
    let mut command = command("git", Some(directory), Variables::Inherited, Rights::User);
    // Variables of a git command around this program would lead to its index and directory.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR"] {
        command.env_remove(name);
    }
    let output = command
        .args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"])
        .args(arguments)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| WorkspaceError::Git(format!("git cannot be started: {error}")))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(WorkspaceError::Git(message));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}
