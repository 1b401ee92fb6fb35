//! Making a workspace look as it did, without touching what somebody else has changed since.

use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use super::CheckpointError;
use super::objects::Objects;
use super::state::{Change, Item, State};
use crate::executor::replace::replace;

/// What a restoration did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    /// What was put back, created or removed.
    pub paths: Vec<String>,
    /// What was left as it is.
    pub conflicts: Vec<Conflict>,
}

/// Something that was left as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The path, from the workspace on.
    pub path: String,
    /// Why.
    pub reason: &'static str,
}

/// Turns what is `expected` into what is `wanted`, where what there is `now` is what is expected.
pub(super) fn restore(
    root: &Path,
    objects: &Objects,
    expected: &State,
    wanted: &State,
    now: &State,
) -> Result<Restored, CheckpointError> {
    let mut restored = Restored::default();
    let changes = expected.changes_to(wanted);
    // Removals from the inside out, then everything else from the outside in.
    let (removals, others): (Vec<&Change>, Vec<&Change>) =
        changes.iter().partition(|change| needs_removal(change));
    for change in removals.into_iter().rev().chain(others) {
        match conflict(change, now) {
            Some(reason) => {
                restored.conflicts.push(Conflict { path: change.path.clone(), reason });
            }
            None => put_back(root, objects, change, &mut restored)?,
        }
    }
    Ok(restored)
}

fn needs_removal(change: &Change) -> bool {
    change.after.is_none()
}

/// Why a path must be left alone.
fn conflict(change: &Change, now: &State) -> Option<&'static str> {
    let there = now.items.get(&change.path);
    let as_expected = match (&change.before, there) {
        (None, None) => true,
        (Some(before), Some(there)) => before.is_same(there),
        _ => false,
    };
    // Somebody may also have made the change already.
    let as_wanted = match (&change.after, there) {
        (None, None) => true,
        (Some(after), Some(there)) => after.is_same(there),
        _ => false,
    };
    if !as_expected && !as_wanted {
        return Some("changed since");
    }
    match &change.after {
        Some(Item::File { hash: None, .. }) => Some("too large to have been kept"),
        _ => None,
    }
}

fn put_back(
    root: &Path,
    objects: &Objects,
    change: &Change,
    restored: &mut Restored,
) -> Result<(), CheckpointError> {
    let path = root.join(&change.path);
    let failed = |action| CheckpointError::io(action, path.clone());
    if leads_elsewhere(root, &path) {
        let reason = "behind a link";
        restored.conflicts.push(Conflict { path: change.path.clone(), reason });
        return Ok(());
    }
    match &change.after {
        None => {
            if let Err(error) = remove(&path) {
                // Something that is not part of the checkpoint is still in there.
                if error.kind() != std::io::ErrorKind::DirectoryNotEmpty {
                    return Err(failed("remove")(error));
                }
                let reason = "not empty";
                restored.conflicts.push(Conflict { path: change.path.clone(), reason });
                return Ok(());
            }
        }
        Some(item) => {
            if change.before.as_ref().is_some_and(|before| kind(before) != kind(item)) {
                remove(&path).map_err(failed("remove"))?;
            }
            create(&path, item, objects)?;
        }
    }
    restored.paths.push(change.path.clone());
    Ok(())
}

/// Whether a directory on the way is a link by now: what is behind it is not ours.
fn leads_elsewhere(root: &Path, path: &Path) -> bool {
    path.ancestors().skip(1).take_while(|above| *above != root).any(Path::is_symlink)
}

fn create(path: &Path, item: &Item, objects: &Objects) -> Result<(), CheckpointError> {
    let failed = |action| CheckpointError::io(action, path.to_owned());
    match item {
        Item::Directory { mode } => {
            fs::create_dir_all(path).map_err(failed("create"))?;
            set_mode(path, *mode).map_err(failed("change"))
        }
        Item::Link { target } => {
            if path.is_symlink() {
                fs::remove_file(path).map_err(failed("remove"))?;
            }
            link(target, path).map_err(failed("create"))
        }
        Item::File { hash, mode, modified, .. } => {
            let Some(hash) = hash else { return Ok(()) };
            let content = objects.read(hash)?;
            replace(path, &content).map_err(failed("write"))?;
            set_mode(path, *mode).map_err(failed("change"))?;
            set_modified(path, *modified).map_err(failed("change"))
        }
    }
}

fn remove(path: &Path) -> std::io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn kind(item: &Item) -> u8 {
    match item {
        Item::File { .. } => 0,
        Item::Directory { .. } => 1,
        Item::Link { .. } => 2,
    }
}

fn set_modified(path: &Path, modified: i64) -> std::io::Result<()> {
    let Ok(nanoseconds) = u64::try_from(modified) else { return Ok(()) };
    let time = UNIX_EPOCH + Duration::from_nanos(nanoseconds);
    fs::File::open(path)?.set_modified(time)
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(unix)]
fn link(target: &str, path: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

#[cfg(not(unix))]
fn set_mode(_: &Path, _: u32) -> std::io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn link(_: &str, _: &Path) -> std::io::Result<()> {
    Err(std::io::Error::from(std::io::ErrorKind::Unsupported))
}
