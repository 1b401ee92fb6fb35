//! The changes of a workspace since its start: as a list, as a diff and as a patch file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pi_tools::checkpoint::{Change, Checkpoints, FileState};

use super::diff::{Side, diff_file};
use super::hidden::{IgnoreRules, hidden_files, is_ignore_file};
use super::ignored::is_cache;
use super::{RunWorkspace, WorkspaceError, current_exclude};
use crate::report::FileReport;

/// The changes of a workspace since its start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changes {
    /// The changed files and links, without directories.
    pub files: Vec<ChangedFile>,
    /// New files in the caches of tools, which git does not ignore here. They are no work: neither
    /// the diff nor a clean room has them.
    pub caches: Vec<String>,
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
    /// Lines for which the change counts in addition to those that were added and removed: one for
    /// every 1,000 bytes of a long line or of a content that is not text.
    pub surplus: u64,
    /// True if the diff only names the file.
    pub is_opaque: bool,
    /// True if git ignores the file: the run changed what is ignored, or the contract asks for the
    /// file.
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
    /// Returns the number of added and removed lines. Every 1,000 bytes of a long line, or of a content
    /// that is not text, count as one more.
    pub fn lines(&self) -> u64 {
        let lines = |file: &ChangedFile| file.report.added + file.report.removed + file.surplus;
        self.files.iter().map(lines).sum()
    }

    /// Returns the list for a report.
    pub fn reports(&self) -> Vec<FileReport> {
        self.files.iter().map(|file| file.report.clone()).collect()
    }

    /// Returns the paths of ignored files that are part of the result.
    pub(super) fn hidden(&self) -> impl Iterator<Item = &str> {
        let hidden = self.files.iter().filter(|file| file.is_hidden);
        hidden.map(|file| file.report.path.as_str())
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
            if kind == "added" && is_in_cache(&change.path) {
                changes.caches.push(change.path);
                continue;
            }
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
                surplus: diff.surplus,
                is_opaque: diff.is_opaque,
                is_hidden: false,
                hash,
            });
        }
        self.add_hidden(checkpoints, &mut changes)?;
        Ok(changes)
    }

    /// Adds ignored files that are part of the result: those that the contract asks for, and new ones
    /// that the run hid by changing what git ignores.
    fn add_hidden(
        &self,
        checkpoints: &Checkpoints,
        changes: &mut Changes,
    ) -> Result<(), WorkspaceError> {
        let is_rule = |file: &ChangedFile| is_ignore_file(&file.report.path);
        let has_new_rules =
            changes.files.iter().any(is_rule) || current_exclude(&self.root) != self.exclude;
        if !has_new_rules && self.results.is_empty() {
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
        let mut hidden = BTreeSet::new();
        if has_new_rules {
            hidden.extend(hidden_files(&self.root, &rules, &known));
        }
        if !self.results.is_empty() {
            let is_result = |path: &String| {
                self.results.iter().any(|pattern| pattern.names(path)) && self.is_new_ignored(path)
            };
            let ignored = hidden_files(&self.root, &IgnoreRules::default(), &known);
            hidden.extend(ignored.into_iter().filter(is_result));
        }
        for path in hidden {
            let content = std::fs::read(self.root.join(&path)).ok();
            let new = Side::File { content, executable: false };
            let diff = diff_file(&path, &Side::Missing, &new);
            changes.diff.extend(diff.text);
            let change = "added".to_owned();
            let report = FileReport { path, change, added: diff.added, ..FileReport::default() };
            changes.files.push(ChangedFile {
                report,
                surplus: diff.surplus,
                is_opaque: diff.is_opaque,
                is_hidden: true,
                hash: None,
            });
        }
        Ok(())
    }

    /// Returns true if an ignored file is not as the user had it at the start.
    fn is_new_ignored(&self, path: &str) -> bool {
        let theirs = std::fs::read(self.origin.join(path)).ok();
        match self.is_in_place() {
            true => !self.ignored.is_unchanged(path),
            false => theirs.is_none() || theirs != std::fs::read(self.root.join(path)).ok(),
        }
    }

    /// Returns the ignored files and directories of a worktree or a copy that its removal deletes,
    /// by their first names. Caches are left out.
    pub(crate) fn left_behind(&self, changes: &Changes) -> BTreeSet<String> {
        let checkpoints = self.checkpoints();
        let Ok(now) = checkpoints.paths(changes.state) else { return BTreeSet::new() };
        drop(checkpoints);
        let brought = changes.files.iter().map(|file| file.report.path.as_str());
        let known = now.keys().map(String::as_str).chain(brought).collect();
        let ignored = hidden_files(&self.root, &IgnoreRules::default(), &known);
        let is_theirs = |path: &&String| {
            !is_in_cache(path) && !self.is_in_tagged_cache(path) && self.is_new_ignored(path)
        };
        let first = |path: &String| match path.split_once('/') {
            Some((directory, _)) => format!("{directory}/"),
            None => path.clone(),
        };
        ignored.iter().filter(is_theirs).map(first).collect()
    }

    fn is_in_tagged_cache(&self, path: &str) -> bool {
        let directories = Path::new(path).ancestors().skip(1);
        directories.into_iter().any(|directory| {
            !directory.as_os_str().is_empty() && is_cache(&self.root.join(directory))
        })
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

/// Returns true for a file that running or checking Python code leaves beside it.
fn is_in_cache(path: &str) -> bool {
    let caches = ["__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"];
    path.split('/').any(|part| caches.contains(&part))
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
