//! The files of a working directory as they were when they were last read: a cache on disk, so that
//! a new process or session need not read all files.

use std::collections::{HashMap, HashSet};
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pi_base::text::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A file that changed this recently may change again without new time stamps.
const TICK: Duration = Duration::from_secs(2);

/// The known files of one working directory.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Index {
    files: HashMap<String, Known>,
    /// The state of the whole directory that sessions were last based on.
    #[serde(default)]
    pub(super) base: Option<String>,
    #[serde(skip)]
    changed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Known {
    stamp: Stamp,
    pub(super) hash: String,
    /// The store has the content.
    pub(super) kept: bool,
}

/// The metadata of a file. If it is equal, the content is equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    pub(super) size: u64,
    pub(super) modified: i64,
    changed: (i64, i64),
    inode: u64,
    /// The file had not changed recently, so its time stamps can be trusted.
    settled: bool,
}

impl Index {
    /// Returns the file of the index of a working directory.
    pub(super) fn path(directory: &Path, root: &Path) -> PathBuf {
        let digest = Sha256::digest(root.as_os_str().as_encoded_bytes());
        directory.join(hex(&digest[..16]))
    }

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
        let written = std::fs::create_dir_all(directory)
            .and_then(|()| pi_fs::write(path, pi_fs::Access::Private, &serde_json::to_vec(self)?));
        drop(written);
    }

    /// Returns the file if it has not changed since it was read.
    pub(super) fn unchanged(&self, path: &str, stamp: Stamp) -> Option<&Known> {
        self.files.get(path).filter(|known| known.stamp == stamp && stamp.settled)
    }

    pub(super) fn record(&mut self, path: &str, stamp: Stamp, hash: &str, kept: bool) {
        let known = Known { stamp, hash: hash.to_owned(), kept };
        self.files.insert(path.to_owned(), known);
        self.changed = true;
    }

    /// Sets the state that new sessions of this directory are based on.
    pub(super) fn set_base(&mut self, base: String) {
        self.base = Some(base);
        self.changed = true;
    }

    /// Forgets all files except these.
    pub(super) fn retain(&mut self, wanted: impl Fn(&str) -> bool) {
        self.files.retain(|path, _| wanted(path));
    }

    /// Forgets contents that the store has no longer.
    pub(super) fn retain_contents(&mut self, stored: &HashSet<String>) {
        let before = (self.files.len(), self.base.clone());
        self.files.retain(|_, known| stored.contains(&known.hash));
        self.base = self.base.take().filter(|base| stored.contains(base));
        self.changed |= before != (self.files.len(), self.base.clone());
    }
}

impl Stamp {
    pub(super) fn of(metadata: &Metadata, now: SystemTime) -> Self {
        let modified = metadata.modified().unwrap_or(UNIX_EPOCH);
        let (changed, inode) = beyond_std(metadata);
        // The time of the last change of any kind, which cannot be set back.
        let last = u64::try_from(changed.0)
            .map_or(modified, |seconds| modified.max(UNIX_EPOCH + Duration::from_secs(seconds)));
        Self {
            size: metadata.len(),
            modified: nanoseconds(modified),
            changed,
            inode,
            settled: now.duration_since(last).is_ok_and(|age| age > TICK),
        }
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

#[cfg(not(unix))]
fn beyond_std(_: &Metadata) -> ((i64, i64), u64) {
    ((0, 0), 0)
}
