//! Scanning a workspace: its files, and which of them must be read.

use std::collections::HashMap;
use std::fs::Metadata;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ignore::WalkBuilder;
use serde::{Deserialize, Serialize};

use super::CheckpointError;
use super::name::{to_path, to_text};
use super::objects::{self, Objects};
use super::state::{FileState, State};

/// A file that changed this recently may change again without new time stamps.
const TICK: Duration = Duration::from_secs(2);

/// The files as they were when they were last read. Saved on disk as a cache, so that a new process
/// need not read all files.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Index {
    files: HashMap<String, Known>,
    #[serde(skip)]
    changed: bool,
}

impl Index {
    /// Reads the cache. A missing or broken cache is empty.
    pub(super) fn load(path: &Path) -> Self {
        let bytes = std::fs::read(path).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Writes the cache if it has changed. If that fails, the next scan takes longer.
    pub(super) fn save(&mut self, path: &Path) {
        if !std::mem::take(&mut self.changed) {
            return;
        }
        let Some(directory) = path.parent() else { return };
        let written = tempfile::NamedTempFile::new_in(directory).and_then(|mut file| {
            file.write_all(&serde_json::to_vec(self)?)?;
            file.persist(path).map_err(|error| error.error)
        });
        drop(written);
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    stamp: Stamp,
    hash: String,
    /// The store has the content.
    kept: bool,
}

/// The metadata of a file. If it is equal, the content is equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    size: u64,
    modified: i64,
    changed: (i64, i64),
    inode: u64,
    /// The file had not changed recently, so its time stamps can be trusted.
    settled: bool,
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
) -> Result<State, CheckpointError> {
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
    index.files.retain(|path, _| state.items.contains_key(path));
    Ok(state)
}

/// Returns the paths below a directory that are not ignored.
pub(super) fn covered(root: &Path) -> impl Iterator<Item = String> {
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

/// Returns true if a parent directory of the path is a link: the workspace does not contain what is
/// behind it.
pub(super) fn is_behind_link(root: &Path, path: &Path) -> bool {
    path.ancestors().skip(1).take_while(|above| *above != root).any(Path::is_symlink)
}

fn scan_path(
    file: &Path,
    path: &str,
    metadata: &Metadata,
    now: SystemTime,
    index: &mut Index,
    objects: Option<&Objects>,
    file_bytes: u64,
) -> Result<Option<FileState>, CheckpointError> {
    if metadata.is_dir() {
        return Ok(Some(FileState::Directory { mode: mode(metadata) }));
    }
    if metadata.is_symlink() {
        let Ok(target) = std::fs::read_link(file) else { return Ok(None) };
        return Ok(to_text(&target).map(|target| FileState::Link { target }));
    }
    if !metadata.is_file() {
        return Ok(None);
    }
    let stamp = stamp(metadata, now);
    let item = |hash| FileState::File {
        hash,
        size: stamp.size,
        mode: mode(metadata),
        modified: stamp.modified,
    };
    if stamp.size > file_bytes {
        return Ok(Some(item(None)));
    }
    if let Some(known) = index.files.get(path)
        && known.stamp == stamp
        && stamp.settled
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
    let known = Known { stamp, hash: hash.clone(), kept: objects.is_some() };
    index.files.insert(path.to_owned(), known);
    index.changed = true;
    Ok(Some(item(Some(hash))))
}

fn stamp(metadata: &Metadata, now: SystemTime) -> Stamp {
    let modified = metadata.modified().unwrap_or(UNIX_EPOCH);
    let (changed, inode) = beyond_std(metadata);
    // The time of the last change of any kind, which cannot be set back.
    let last = u64::try_from(changed.0)
        .map_or(modified, |seconds| modified.max(UNIX_EPOCH + Duration::from_secs(seconds)));
    Stamp {
        size: metadata.len(),
        modified: nanoseconds(modified),
        changed,
        inode,
        settled: now.duration_since(last).is_ok_and(|age| age > TICK),
    }
}

/// Converts a time to nanoseconds since the epoch, negative before it; the range is 292 years each
/// way.
fn nanoseconds(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => -i64::try_from(before.duration().as_nanos()).unwrap_or(i64::MAX),
    }
}

#[cfg(unix)]
fn beyond_std(metadata: &Metadata) -> ((i64, i64), u64) {
    use std::os::unix::fs::MetadataExt;
    ((metadata.ctime(), metadata.ctime_nsec()), metadata.ino())
}

#[cfg(unix)]
pub(super) fn mode(metadata: &Metadata) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o7777
}

#[cfg(not(unix))]
fn beyond_std(_: &Metadata) -> ((i64, i64), u64) {
    ((0, 0), 0)
}

#[cfg(not(unix))]
pub(super) fn mode(metadata: &Metadata) -> u32 {
    if metadata.permissions().readonly() { 0o444 } else { 0o644 }
}
