//! Scanning a workspace: its files, and which of them must be read.

use std::fs::Metadata;
use std::path::Path;
use std::time::SystemTime;

use ignore::WalkBuilder;
use pi_guard::confine::is_cover;

use super::CheckpointError;
use super::beside;
use super::index::{Index, Stamp};
use super::name::{to_path, to_text};
use super::objects::{self, Objects};
use super::state::{FileState, State};

/// The result of a scan.
#[derive(Debug)]
pub(super) struct Scanned {
    pub(super) state: State,
    /// Directories with objects of repositories, relative to the workspace.
    pub(super) repositories: Vec<String>,
}

/// Scans everything below `root`, and adds new contents to `objects`. Paths that are `known` are
/// scanned even if they are ignored by now, as git does with tracked files: otherwise a new line in
/// `.gitignore` would look like a removal.
pub(super) fn scan(
    root: &Path,
    known: &State,
    index: &mut Index,
    objects: Option<&Objects>,
    file_bytes: u64,
) -> Result<Scanned, CheckpointError> {
    let mut state = State::default();
    let now = SystemTime::now();
    for path in covered(root) {
        let file = root.join(to_path(&path));
        // A file that disappears during the scan does not exist.
        let Ok(metadata) = std::fs::symlink_metadata(&file) else { continue };
        if let Some(item) = scan_path(&file, &path, &metadata, now, index, objects, file_bytes)? {
            state.items.insert(path, item);
        }
    }
    for path in known.items.keys() {
        let file = root.join(to_path(path));
        if state.items.contains_key(path) || is_behind_link(root, &file) {
            continue;
        }
        let Ok(metadata) = std::fs::symlink_metadata(&file) else { continue };
        if let Some(item) = scan_path(&file, path, &metadata, now, index, objects, file_bytes)? {
            state.items.insert(path.clone(), item);
        }
    }
    let found = beside::scan(root, &state.items, index, objects)?;
    state.beside = found.files;
    index.retain(|path| state.items.contains_key(path) || state.beside.contains_key(path));
    Ok(Scanned { state, repositories: found.objects })
}

/// Returns the paths below a directory that a checkpoint covers: those that are not ignored. They
/// have the form of [`Change::path`](super::Change::path).
pub fn covered(root: &Path) -> impl Iterator<Item = String> {
    let walk = WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .git_global(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build();
    walk.filter_map(move |entry| {
        let entry = entry.ok()?;
        let path = to_text(entry.path().strip_prefix(root).ok()?)?;
        (!path.is_empty()).then_some(path)
    })
}

/// Directories that may be covers of the sandbox.
const COVERS: [&str; 2] = [".agents", ".pi"];

/// Returns true if a parent directory of the path is a link: the workspace does not contain what is
/// behind it.
pub(super) fn is_behind_link(root: &Path, path: &Path) -> bool {
    path.ancestors().skip(1).take_while(|above| *above != root).any(Path::is_symlink)
}

pub(super) fn scan_path(
    file: &Path,
    path: &str,
    metadata: &Metadata,
    now: SystemTime,
    index: &mut Index,
    objects: Option<&Objects>,
    file_bytes: u64,
) -> Result<Option<FileState>, CheckpointError> {
    if metadata.is_dir() {
        // An empty directory that the sandbox puts there, and removes at the end of the session.
        if COVERS.contains(&path) && is_cover(file) {
            return Ok(None);
        }
        return Ok(Some(FileState::Directory { mode: mode(metadata) }));
    }
    if metadata.is_symlink() {
        let Ok(target) = std::fs::read_link(file) else { return Ok(None) };
        return Ok(to_text(&target).map(|target| FileState::Link { target }));
    }
    if !metadata.is_file() {
        return Ok(None);
    }
    let stamp = Stamp::of(metadata, now);
    let item = |hash| FileState::File {
        hash,
        size: stamp.size,
        mode: mode(metadata),
        modified: stamp.modified,
    };
    if stamp.size > file_bytes {
        return Ok(Some(item(None)));
    }
    if let Some(known) = index.unchanged(path, stamp)
        && (known.kept || objects.is_none())
    {
        return Ok(Some(item(Some(known.hash.clone()))));
    }
    let content = match std::fs::read(file) {
        Ok(content) => content,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        // The content of an unreadable file is not stored.
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            return Ok(Some(item(None)));
        }
        Err(error) => return Err(CheckpointError::io("read", file)(error)),
    };
    let hash = objects::hash(&content);
    if let Some(objects) = objects {
        objects.write(&hash, &content)?;
    }
    index.record(path, stamp, &hash, objects.is_some());
    Ok(Some(item(Some(hash))))
}

#[cfg(unix)]
pub(super) fn mode(metadata: &Metadata) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o7777
}

#[cfg(not(unix))]
pub(super) fn mode(metadata: &Metadata) -> u32 {
    if metadata.permissions().readonly() { 0o444 } else { 0o644 }
}
