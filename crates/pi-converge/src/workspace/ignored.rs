//! The files that git ignores, as they were at the start: dependencies, virtual environments, build
//! output, local configuration.
//!
//! They are too many to be stored. Instead, the identity of each is recorded before the agent
//! starts, and a room gets those that still have it. A file that was written, replaced or added
//! since has another identity: the time of the last change of a file is set by the kernel alone.
//! Small files outside of caches, such as settings, are stored, so that a room has them as they were.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use pi_fs::FileError;
use pi_tools::checkpoint::covered;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Changed files that are named.
const MOST_NAMED: usize = 200;
/// Largest file that is stored.
const MOST_STORED: u64 = 1 << 20;
/// Bytes of all stored files.
const ALL_STORED: u64 = 64 << 20;
/// Most files that are stored.
const MOST_FILES: usize = 4000;

/// The ignored files of a directory at the start of a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct IgnoredFiles {
    root: PathBuf,
    /// Times of the file system cannot be trusted, so contents are compared.
    by_content: bool,
    entries: BTreeMap<PathBuf, Identity>,
    /// Directories of derived files.
    #[serde(default)]
    caches: BTreeSet<PathBuf>,
    /// Names of the stored files in the directory with them.
    #[serde(default)]
    stored: BTreeMap<PathBuf, String>,
    #[serde(skip)]
    store: PathBuf,
}

/// The identity of a file, directory or link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Identity {
    Directory,
    Link { target: PathBuf },
    File { inode: u64, size: u64, modified: i128, changed: i128, hash: Option<String> },
}

impl IgnoredFiles {
    /// Records the ignored files of a directory in a file, or reads what an earlier process of the
    /// run recorded. `skipped` is left out: the run may keep its own files in the directory.
    pub(crate) fn record(root: &Path, file: &Path, skipped: &Path) -> Result<Self, FileError> {
        let stored = pi_fs::if_exists(fs::read(file)).map_err(FileError::at("read", file))?;
        if let Some(stored) = stored {
            let known = serde_json::from_slice(&stored).map_err(io::Error::other);
            let mut known: Self = known.map_err(FileError::at("read", file))?;
            known.store = file.with_extension("files");
            // A run that is resumed elsewhere finds other files there.
            if known.root == root {
                return Ok(known);
            }
        }
        let mut found = Self {
            root: root.to_owned(),
            by_content: !has_reliable_times(root),
            store: file.with_extension("files"),
            ..Self::default()
        };
        let covered: BTreeSet<PathBuf> = covered(root).map(PathBuf::from).collect();
        let mut directories = vec![PathBuf::new()];
        while let Some(directory) = directories.pop() {
            let listed = fs::read_dir(root.join(&directory));
            // A directory that cannot be listed cannot be used by a check either.
            for entry in listed.into_iter().flatten().flatten() {
                let path = directory.join(entry.file_name());
                let is_git = directory.as_os_str().is_empty() && entry.file_name() == ".git";
                if is_git || root.join(&path) == skipped {
                    continue;
                }
                let Ok(metadata) = entry.metadata() else { continue };
                if metadata.is_dir() {
                    directories.push(path.clone());
                    if is_cache(&root.join(&path)) {
                        found.caches.insert(path.clone());
                    }
                }
                // Names that are not text cannot be recorded.
                if covered.contains(&path) || path.to_str().is_none() {
                    continue;
                }
                if let Some(identity) = found.identity(&path, &metadata) {
                    found.entries.insert(path, identity);
                }
            }
        }
        found.store_small().map_err(FileError::at("store", file))?;
        let text = serde_json::to_vec(&found).map_err(io::Error::other);
        text.and_then(|text| pi_fs::replace(file, &text)).map_err(FileError::at("write", file))?;
        Ok(found)
    }

    /// Stores small files, those of outer directories first.
    fn store_small(&mut self) -> io::Result<()> {
        super::remove_all(&self.store)?;
        let mut files: Vec<(&PathBuf, u64)> = Vec::new();
        for (path, identity) in &self.entries {
            match identity {
                Identity::File { size, .. } if *size <= MOST_STORED && !self.is_in_cache(path) => {
                    files.push((path, *size));
                }
                _ => {}
            }
        }
        files.sort_by_key(|(path, _)| path.components().count());
        let (mut bytes, mut stored) = (0, BTreeMap::new());
        for (path, size) in files.into_iter().take(MOST_FILES) {
            bytes += size;
            if bytes > ALL_STORED {
                break;
            }
            fs::create_dir_all(&self.store)?;
            let name = stored.len().to_string();
            // A file that cannot be read cannot be used by a check either.
            if super::copy_file(&self.root.join(path), &self.store.join(&name)).is_ok() {
                stored.insert(path.clone(), name);
            }
        }
        self.stored = stored;
        Ok(())
    }

    fn is_in_cache(&self, path: &Path) -> bool {
        path.ancestors().skip(1).any(|above| self.caches.contains(above))
    }

    /// Returns true if a path was an ignored file of the user at the start, outside of caches.
    pub(crate) fn is_file_of_start(&self, path: &str) -> bool {
        let path = Path::new(path);
        matches!(self.entries.get(path), Some(Identity::File { .. })) && !self.is_in_cache(path)
    }

    /// Copies the files as they were at the start: those that are so still, and stored ones.
    pub(crate) fn copy_to(&self, to: &Path) -> Result<(), FileError> {
        self.copy_unchanged(to)?;
        for (path, name) in &self.stored {
            let copy = to.join(path);
            let mut above = path.ancestors().skip(1).map(|above| to.join(above));
            let is_taken =
                |above: PathBuf| fs::symlink_metadata(above).is_ok_and(|found| !found.is_dir());
            if fs::symlink_metadata(&copy).is_ok() || above.any(is_taken) {
                continue;
            }
            let made = copy.parent().map_or(Ok(()), fs::create_dir_all);
            let copied = made.and_then(|()| super::copy_file(&self.store.join(name), &copy));
            copied.map_err(FileError::at("copy", &copy))?;
        }
        Ok(())
    }

    fn copy_unchanged(&self, to: &Path) -> Result<(), FileError> {
        for (path, identity) in &self.entries {
            let (from, copy) = (self.root.join(path), to.join(path));
            let Ok(metadata) = fs::symlink_metadata(&from) else { continue };
            // The run may have made a file of the room out of a directory of these.
            let has_parent = copy.parent().is_some_and(|parent| {
                fs::symlink_metadata(parent).is_ok_and(|found| found.is_dir())
            });
            let is_free = fs::symlink_metadata(&copy).is_err();
            if !has_parent || !is_free || self.identity(path, &metadata).as_ref() != Some(identity)
            {
                continue;
            }
            let copied = match identity {
                Identity::Directory => fs::create_dir(&copy),
                Identity::Link { target } => super::link(target, &copy),
                Identity::File { .. } => self.copy_file(path, identity, &copy),
            };
            copied.map_err(FileError::at("copy", &from))?;
        }
        Ok(())
    }

    /// Returns true if a file is as it was at the start.
    pub(super) fn is_unchanged(&self, path: &str) -> bool {
        let metadata = fs::symlink_metadata(self.root.join(path)).ok();
        let now = metadata.and_then(|metadata| self.identity(Path::new(path), &metadata));
        now.is_some() && now.as_ref() == self.entries.get(Path::new(path))
    }

    /// Copies a file. A copy of a file that changed meanwhile is removed.
    fn copy_file(&self, path: &Path, identity: &Identity, copy: &Path) -> io::Result<()> {
        let from = self.root.join(path);
        match super::copy_file(&from, copy) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
        let now = fs::symlink_metadata(&from).ok();
        let now = now.and_then(|metadata| self.identity(path, &metadata));
        if now.as_ref() == Some(identity) { Ok(()) } else { fs::remove_file(copy) }
    }

    /// Returns the files that were added or changed since the start and that no room has as they are.
    pub(crate) fn changed(&self) -> Vec<String> {
        let covered: BTreeSet<PathBuf> = covered(&self.root).map(PathBuf::from).collect();
        let mut changed = BTreeSet::new();
        let mut directories = vec![PathBuf::new()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(self.root.join(&directory)).into_iter().flatten().flatten() {
                let path = directory.join(entry.file_name());
                let is_git = directory.as_os_str().is_empty() && entry.file_name() == ".git";
                let Ok(metadata) = entry.metadata() else { continue };
                if is_git || changed.len() >= MOST_NAMED {
                    continue;
                }
                let is_new = !covered.contains(&path) && !self.entries.contains_key(&path);
                if metadata.is_dir() {
                    if !is_cache(&self.root.join(&path)) {
                        directories.push(path);
                    }
                    continue;
                }
                let known = self.entries.get(&path);
                let is_changed = known
                    .is_some_and(|known| self.identity(&path, &metadata).as_ref() != Some(known));
                if is_new || is_changed {
                    changed.insert(path.display().to_string());
                }
            }
        }
        changed.into_iter().collect()
    }

    fn identity(&self, path: &Path, metadata: &Metadata) -> Option<Identity> {
        if metadata.is_dir() {
            return Some(Identity::Directory);
        }
        if metadata.is_symlink() {
            let target = fs::read_link(self.root.join(path)).ok()?;
            return target.to_str().is_some().then_some(Identity::Link { target });
        }
        if !metadata.is_file() {
            return None;
        }
        let hash = match self.by_content {
            true => Some(content_hash(&self.root.join(path)).ok()?),
            false => None,
        };
        let (inode, changed) = inode_and_change(metadata);
        let modified = nanoseconds(metadata.modified().ok()?);
        Some(Identity::File { inode, size: metadata.len(), modified, changed, hash })
    }
}

/// Returns true for a directory of derived files, by the standard tag or by the name that
/// interpreters of Python use.
pub(super) fn is_cache(directory: &Path) -> bool {
    const SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";
    let tag = fs::read(directory.join("CACHEDIR.TAG")).unwrap_or_default();
    tag.starts_with(SIGNATURE) || directory.file_name().is_some_and(|name| name == "__pycache__")
}

fn content_hash(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut file = fs::File::open(path)?;
    let mut block = vec![0; 64 * 1024];
    loop {
        match file.read(&mut block)? {
            0 => return Ok(pi_base::text::hex(&hash.finalize())),
            length => hash.update(block.get(..length).unwrap_or_default()),
        }
    }
}

fn nanoseconds(time: SystemTime) -> i128 {
    let signed = |duration: std::time::Duration| i128::try_from(duration.as_nanos()).unwrap_or(0);
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => signed(after),
        Err(before) => -signed(before.duration()),
    }
}

/// Returns the inode, and the time of its last change in nanoseconds.
#[cfg(unix)]
fn inode_and_change(metadata: &Metadata) -> (u64, i128) {
    use std::os::unix::fs::MetadataExt as _;
    let changed = i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec());
    (metadata.ino(), changed)
}

#[cfg(not(unix))]
fn inode_and_change(_: &Metadata) -> (u64, i128) {
    (0, 0)
}

/// Returns true if the file system notes every change of a content in the time of a file. Memory
/// file systems do not do so for changes through a mapping.
#[cfg(target_os = "linux")]
fn has_reliable_times(root: &Path) -> bool {
    use rustix::fs::FsWord;
    /// `TMPFS_MAGIC` and `RAMFS_MAGIC`.
    const IN_MEMORY: [FsWord; 2] = [0x0102_1994, 0x8584_58F6];
    rustix::fs::statfs(root).is_ok_and(|found| !IN_MEMORY.contains(&found.f_type))
}

#[cfg(not(target_os = "linux"))]
fn has_reliable_times(_: &Path) -> bool {
    cfg!(unix)
}
