//! The changes of a workspace since its start: as a list, as a diff and as a patch file.

use std::path::{Path, PathBuf};

use pi_tools::checkpoint::{Change, Checkpoints, FileState};

use super::diff::{Side, diff_file};
use super::hidden::{IgnoreRules, hidden_files, is_ignore_file};
use super::{RunWorkspace, WorkspaceError, current_exclude};
use crate::report::FileReport;

/// The changes of a workspace since its start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changes {
    /// The changed files and links, without directories.
    pub files: Vec<ChangedFile>,
    /// The unified diff. It names files whose content is not text.
    pub diff: Vec<u8>,
    /// Number of the state that was compared with the start.
    pub state: usize,
}

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangedFile {
    /// The file as reports have it.
    pub report: FileReport,
    /// True if the diff only names the file.
    pub is_opaque: bool,
    /// True if git ignores the file because the run changed what it ignores.
    pub is_hidden: bool,
    /// Hash of the content or target at the end.
    pub hash: Option<String>,
}

/// A patch file, and the files that it cannot contain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SavedPatch {
    /// The patch, for `git apply`.
    pub patch: PathBuf,
    /// Copies of files that are not text, beside the patch.
    pub copies: Vec<PathBuf>,
    /// Files that were too large to be stored.
    pub lost: Vec<String>,
}

impl Changes {
    /// Returns the number of added and removed lines. A file that is not text counts as one line.
    pub fn lines(&self) -> u64 {
        let lines = |file: &ChangedFile| {
            file.report.added + file.report.removed + u64::from(file.is_opaque)
        };
        self.files.iter().map(lines).sum()
    }

    /// Returns the list for a report.
    pub fn reports(&self) -> Vec<FileReport> {
        self.files.iter().map(|file| file.report.clone()).collect()
    }

    /// Returns the diff as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.diff).into_owned()
    }
}

impl RunWorkspace {
    /// Stores the state of the workspace and compares it with the start.
    pub fn changes(&self) -> Result<Changes, WorkspaceError> {
        let mut checkpoints = self.checkpoints();
        let state = checkpoints.take("run")?;
        self.changes_at(&checkpoints, state)
    }

    pub(super) fn changes_at(
        &self,
        checkpoints: &Checkpoints,
        state: usize,
    ) -> Result<Changes, WorkspaceError> {
        let mut changes = Changes { state, ..Changes::default() };
        for change in checkpoints.diff(self.baseline, state)? {
            let old = side(checkpoints, self.baseline, &change, &change.before)?;
            let new = side(checkpoints, state, &change, &change.after)?;
            let kind = match (&old, &new) {
                (Side::Missing, Side::Missing) => continue,
                (Side::Missing, _) => "added",
                (_, Side::Missing) => "removed",
                _ => "changed",
            };
            let diff = diff_file(&change.path, &old, &new);
            changes.diff.extend(diff.text);
            let report = FileReport {
                path: shown(&change.path),
                change: kind.to_owned(),
                added: diff.added,
                removed: diff.removed,
                read_by_checks: false,
            };
            let hash = match &change.after {
                Some(FileState::File { hash, .. }) => hash.clone(),
                Some(FileState::Link { target }) => Some(target.clone()),
                _ => None,
            };
            changes.files.push(ChangedFile {
                report,
                is_opaque: diff.is_opaque,
                is_hidden: false,
                hash,
            });
        }
        self.add_hidden(checkpoints, &mut changes)?;
        Ok(changes)
    }

    /// Adds the new files that the run hid by changing what git ignores.
    fn add_hidden(
        &self,
        checkpoints: &Checkpoints,
        changes: &mut Changes,
    ) -> Result<(), WorkspaceError> {
        let is_rule = |file: &ChangedFile| is_ignore_file(&file.report.path);
        if !changes.files.iter().any(is_rule) && current_exclude(&self.root) == self.exclude {
            return Ok(());
        }
        let (start, now) = (checkpoints.paths(self.baseline)?, checkpoints.paths(changes.state)?);
        let mut rules = IgnoreRules { exclude: self.exclude.clone(), ..IgnoreRules::default() };
        for path in start.keys().filter(|path| is_ignore_file(path)) {
            let content = checkpoints.content(self.baseline, path)?.unwrap_or_default();
            let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
            let text = rules.files.entry(directory.to_owned()).or_default();
            text.push_str(&String::from_utf8_lossy(&content));
            text.push('\n');
        }
        let known = start.keys().chain(now.keys()).map(String::as_str).collect();
        for path in hidden_files(&self.root, &rules, &known) {
            let content = std::fs::read(self.root.join(&path)).ok();
            let new = Side::File { content, executable: false };
            let diff = diff_file(&path, &Side::Missing, &new);
            changes.diff.extend(diff.text);
            let change = "added".to_owned();
            let report = FileReport { path, change, added: diff.added, ..FileReport::default() };
            changes.files.push(ChangedFile {
                report,
                is_opaque: diff.is_opaque,
                is_hidden: true,
                hash: None,
            });
        }
        Ok(())
    }

    /// Saves the changes as a patch for `git apply`, with copies of files that are not text in a
    /// directory beside it.
    pub fn save_patch(&self, patch: &Path) -> Result<SavedPatch, WorkspaceError> {
        let mut checkpoints = self.checkpoints();
        let state = checkpoints.take("run")?;
        let changes = self.changes_at(&checkpoints, state)?;
        let failed = |path: &Path| WorkspaceError::io("write", path.to_owned());
        std::fs::write(patch, &changes.diff).map_err(failed(patch))?;
        let mut saved = SavedPatch { patch: patch.to_owned(), ..SavedPatch::default() };
        let is_gone = |file: &&ChangedFile| file.is_opaque && file.report.change != "removed";
        for file in changes.files.iter().filter(is_gone) {
            let path = &file.report.path;
            let Some(content) = checkpoints.content(state, path)? else {
                saved.lost.push(path.clone());
                continue;
            };
            // A path of a checkpoint has no parent directories in it.
            let copy = patch.with_extension("files").join(path);
            let parent = copy.parent().unwrap_or(&copy);
            std::fs::create_dir_all(parent).map_err(failed(parent))?;
            std::fs::write(&copy, content).map_err(failed(&copy))?;
            saved.copies.push(copy);
        }
        Ok(saved)
    }
}

/// Returns a path as people read it: bytes that are not UTF-8 become the replacement character.
fn shown(path: &str) -> String {
    if !path.contains('\0') {
        return path.to_owned();
    }
    let mut parts = path.split('\0');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push('\u{fffd}');
        text.push_str(part.get(2..).unwrap_or_default());
    }
    text
}

fn side(
    checkpoints: &Checkpoints,
    at: usize,
    change: &Change,
    state: &Option<FileState>,
) -> Result<Side, WorkspaceError> {
    Ok(match state {
        Some(FileState::File { mode, .. }) => {
            let content = checkpoints.content(at, &change.path)?;
            Side::File { content, executable: mode & 0o111 != 0 }
        }
        Some(FileState::Link { target }) => Side::Link(target.clone().into_bytes()),
        // Directories are not part of a diff.
        _ => Side::Missing,
    })
}
