//! Restoring a workspace without touching files that have changed since.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pi_fs::{cannot_rename, keep_attributes, persist, replace, replacement};

use super::CheckpointError;
use super::name::to_path;
use super::objects::{Objects, hash};
use super::scan::{self, is_behind_link, mode};
use super::state::{Change, FileState, State};

/// The result of restoring a checkpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RestoreReport {
    /// Paths that were restored, created or removed.
    pub paths: Vec<String>,
    /// Paths that were not touched.
    pub conflicts: Vec<Conflict>,
}

/// A path that was not touched.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conflict {
    /// Path relative to the workspace.
    pub path: String,
    /// Reason why the path was not restored.
    pub reason: ConflictReason,
}

/// Reasons why a path is not restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConflictReason {
    /// The path changed after the current checkpoint was taken.
    #[error("changed since the checkpoint")]
    Changed,
    /// A directory of the path is a symbolic link.
    #[error("a parent directory is a symbolic link")]
    BehindLink,
    /// The wanted state ignores the path, so the file may have existed then.
    #[error("ignored in the wanted state")]
    Ignored,
    /// An ignored file, which no checkpoint covers, has this name.
    #[error("an ignored file is in the way")]
    IgnoredInTheWay,
    /// The directory contains files that no checkpoint covers.
    #[error("the directory is not empty")]
    NotEmpty,
    /// The content exceeded [`Limits::file_bytes`](super::Limits::file_bytes) and was not stored.
    #[error("too large to have been stored")]
    TooLarge,
    /// The repository has lost the object that a reference named, and no copy was kept.
    #[error("its commit is gone")]
    ObjectGone,
    /// The repository did not exist in the wanted state.
    #[error("a repository that the run created; remove it if nothing in it is needed")]
    NewRepository,
    /// The caller knows, or cannot rule out, that another program changed the path.
    #[error("changed by another program, too")]
    Foreign,
}

/// The decision of a caller about a path that differs from the wanted state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Choice {
    /// Restores the path.
    Restore,
    /// Does not touch the path and does not report it.
    Leave,
    /// Does not touch the path, and reports it as [`ConflictReason::Foreign`].
    Conflict,
}

/// The states between which a workspace is changed.
#[derive(Clone, Copy)]
pub(super) struct States<'a> {
    pub(super) expected: &'a State,
    pub(super) wanted: &'a State,
    /// A path whose state differs from the expected one is a conflict.
    pub(super) now: &'a State,
}

/// Changes the expected state of the chosen paths into the wanted one.
pub(super) fn restore(
    root: &Path,
    objects: &Objects,
    states: States<'_>,
    choose: &dyn Fn(&Change) -> Choice,
) -> Result<RestoreReport, CheckpointError> {
    let mut work =
        Restoration { root, objects, modes: Modes::default(), restored: RestoreReport::default() };
    let mut changes = states.expected.changes_to(states.wanted);
    changes.retain(|change| match choose(change) {
        Choice::Restore => true,
        Choice::Leave => false,
        Choice::Conflict => {
            let (path, reason) = (change.path.clone(), ConflictReason::Foreign);
            work.restored.conflicts.push(Conflict { path, reason });
            false
        }
    });
    let done = work.apply(&changes, states.now);
    // Also after a failure: directories were made writable to change their entries.
    work.modes.finish();
    done?;
    Ok(work.restored)
}

struct Restoration<'a> {
    root: &'a Path,
    objects: &'a Objects,
    modes: Modes,
    restored: RestoreReport,
}

impl Restoration<'_> {
    fn apply(&mut self, changes: &[Change], now: &State) -> Result<(), CheckpointError> {
        // Ignore files come first, because they decide about the rest.
        let (rules, rest): (Vec<&Change>, Vec<&Change>) =
            changes.iter().partition(|change| affects_ignoring(change));
        for change in &rules {
            self.apply_one(change, now, None)?;
        }
        let covered: Option<HashSet<String>> =
            (!rules.is_empty()).then(|| scan::covered(self.root).collect());
        // Removals from the innermost path outward, then all other changes from the outermost
        // inward.
        let (removals, others): (Vec<&Change>, Vec<&Change>) =
            rest.into_iter().partition(|change| change.after.is_none());
        for change in removals.into_iter().rev().chain(others) {
            self.apply_one(change, now, covered.as_ref())?;
        }
        Ok(())
    }

    fn apply_one(
        &mut self,
        change: &Change,
        now: &State,
        covered: Option<&HashSet<String>>,
    ) -> Result<(), CheckpointError> {
        let path = self.root.join(to_path(&change.path));
        let ignored = || covered.is_some_and(|covered| !covered.contains(&change.path));
        let reason = if is_behind_link(self.root, &path) {
            Some(ConflictReason::BehindLink)
        } else if change.after.is_none() && ignored() {
            // The file may have existed all the time.
            Some(ConflictReason::Ignored)
        } else {
            conflict(change, now, &path)
        };
        let reason = match reason {
            Some(reason) => Some(reason),
            None => self.put_back(change, &path)?,
        };
        match reason {
            Some(reason) => {
                self.restored.conflicts.push(Conflict { path: change.path.clone(), reason });
            }
            None => self.restored.paths.push(change.path.clone()),
        }
        Ok(())
    }

    /// Applies a change. Returns the reason if it is a conflict.
    fn put_back(
        &mut self,
        change: &Change,
        path: &Path,
    ) -> Result<Option<ConflictReason>, CheckpointError> {
        let failed = |action| CheckpointError::io(action, path);
        self.modes.open(path.parent().unwrap_or(path));
        let is_other_kind = |item: &FileState| {
            change.before.as_ref().is_some_and(|before| kind(before) != kind(item))
        };
        if change.after.as_ref().is_none_or(is_other_kind) {
            match remove(path) {
                Ok(()) => self.modes.forget(path),
                // The directory contains something that is not part of the checkpoint.
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                    return Ok(Some(ConflictReason::NotEmpty));
                }
                Err(error) => return Err(failed("remove")(error)),
            }
        }
        match &change.after {
            None => {}
            Some(FileState::Directory { mode }) => {
                fs::create_dir_all(path).map_err(failed("create"))?;
                self.modes.set_later(path, *mode);
            }
            Some(FileState::Link { target }) => {
                if path.is_symlink() {
                    fs::remove_file(path).map_err(failed("remove"))?;
                }
                link(&to_path(target), path).map_err(failed("create"))?;
            }
            Some(FileState::File { hash, mode, modified, .. }) => {
                let Some(hash) = hash else { return Ok(None) };
                let content = self.objects.read(hash)?;
                put_file(path, &content, *mode, *modified).map_err(failed("write"))?;
            }
        }
        Ok(None)
    }
}

/// Returns true if a change affects which files are ignored.
fn affects_ignoring(change: &Change) -> bool {
    let name = Path::new(&change.path).file_name();
    name.is_some_and(|name| name == ".gitignore" || name == ".ignore")
        && !matches!(change.after, Some(FileState::Directory { .. }))
}

/// Returns the reason why a path must not be touched.
fn conflict(change: &Change, now: &State, path: &Path) -> Option<ConflictReason> {
    let there = now.items.get(&change.path);
    let is = |item: &Option<FileState>| match (item, there) {
        (None, None) => true,
        (Some(item), Some(there)) => item.is_same(there),
        _ => false,
    };
    // Another program may also have made the same change.
    if !is(&change.before) && !is(&change.after) {
        return Some(ConflictReason::Changed);
    }
    match &change.after {
        Some(FileState::File { hash: None, .. }) => Some(ConflictReason::TooLarge),
        Some(item) if there.is_none() && is_in_the_way(item, path) => {
            Some(ConflictReason::IgnoredInTheWay)
        }
        _ => None,
    }
}

/// Returns true if there is a file that the scan did not cover and that is not the wanted one.
fn is_in_the_way(item: &FileState, path: &Path) -> bool {
    let Ok(metadata) = fs::symlink_metadata(path) else { return false };
    match item {
        FileState::Directory { .. } => !metadata.is_dir(),
        FileState::Link { target } => {
            fs::read_link(path).map_or(true, |there| there != *to_path(target))
        }
        FileState::File { hash: wanted, .. } => {
            let content = metadata.is_file().then(|| fs::read(path).ok()).flatten();
            content.is_none_or(|content| Some(hash(&content)) != *wanted)
        }
    }
}

/// Replaces or creates a file. Not in place, because that would change the other names of the file.
pub(super) fn put_file(path: &Path, content: &[u8], mode: u32, modified: i64) -> io::Result<()> {
    let old = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file);
    let new = replacement(path, content, |new| {
        if let Some(old) = &old {
            keep_attributes(new, old)?;
        }
        set_file_mode(new, mode)
    });
    let put = new.and_then(|new| {
        new.as_file().set_modified(time(modified))?;
        persist(new, path)
    });
    match put {
        Err(error) if cannot_rename(&error) => {
            replace(path, content)?;
            set_mode(path, mode)?;
            fs::File::open(path)?.set_modified(time(modified))
        }
        done => done,
    }
}

pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn kind(item: &FileState) -> u8 {
    match item {
        FileState::File { .. } => 0,
        FileState::Directory { .. } => 1,
        FileState::Link { .. } => 2,
    }
}

pub(super) fn time(nanoseconds: i64) -> SystemTime {
    let distance = Duration::from_nanos(nanoseconds.unsigned_abs());
    if nanoseconds < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
}

/// The modes of directories, which are set at the end: a read-only directory gets its content
/// first.
#[derive(Debug, Default)]
struct Modes {
    later: BTreeMap<PathBuf, u32>,
}

impl Modes {
    /// Makes a directory writable until the end.
    fn open(&mut self, directory: &Path) {
        let Ok(metadata) = fs::symlink_metadata(directory) else { return };
        let mode = mode(&metadata);
        if metadata.is_dir() && mode & 0o700 != 0o700 && set_mode(directory, mode | 0o700).is_ok() {
            self.later.entry(directory.to_owned()).or_insert(mode);
        }
    }

    fn set_later(&mut self, directory: &Path, mode: u32) {
        // Until the end, the directory must be accessible.
        let _ = set_mode(directory, mode | 0o700);
        self.later.insert(directory.to_owned(), mode);
    }

    fn forget(&mut self, directory: &Path) {
        self.later.remove(directory);
    }

    /// Sets the modes from the innermost directory outward: a closed directory gives no access.
    fn finish(&mut self) {
        for (directory, mode) in std::mem::take(&mut self.later).into_iter().rev() {
            let _ = set_mode(&directory, mode);
        }
    }
}

#[cfg(unix)]
pub(super) fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(unix)]
pub(super) fn set_file_mode(file: &fs::File, mode: u32) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
pub(super) fn set_file_mode(_: &fs::File, _: u32) -> std::io::Result<()> {
    Ok(())
}

#[cfg(unix)]
pub(super) fn link(target: &Path, path: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

#[cfg(not(unix))]
pub(super) fn set_mode(_: &Path, _: u32) -> std::io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn link(_: &Path, _: &Path) -> std::io::Result<()> {
    Err(std::io::Error::from(std::io::ErrorKind::Unsupported))
}
