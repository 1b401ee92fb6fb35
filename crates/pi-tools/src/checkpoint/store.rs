//! The store that all sessions share: contents, indexes of working directories, and locks.
//!
//! It is the directory `.store` beside the directories of the sessions. A session writes to it
//! under a shared lock; contents are removed under an exclusive one, so that no content disappears
//! between its use and the journal entry that refers to it. Locks end with their process.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::CheckpointError;
use super::index::Index;

/// Unused contents are looked for this often.
const INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);

/// The paths of a store.
#[derive(Debug, Clone)]
pub(super) struct Store {
    directory: PathBuf,
}

/// Protects the checkpoints of a session from removal while it exists.
#[derive(Debug, Clone)]
pub struct Lease {
    _file: Arc<File>,
}

/// Returns the directory of the store that belongs to the directories of sessions.
fn directory(sessions: &Path) -> PathBuf {
    sessions.join(".store")
}

impl Store {
    /// The store beside the directory of a session.
    pub(super) fn of_session(session: &Path) -> Self {
        Self::of(session.parent().unwrap_or(session))
    }

    /// The store of the sessions in a directory.
    pub(super) fn of(sessions: &Path) -> Self {
        Self { directory: directory(sessions) }
    }

    pub(super) fn path(&self) -> &Path {
        &self.directory
    }

    pub(super) fn exists(&self) -> bool {
        self.directory.is_dir()
    }

    pub(super) fn objects(&self) -> PathBuf {
        self.directory.join("objects")
    }

    /// Returns the directory of the kept objects of repositories.
    pub(super) fn mirrors(&self) -> PathBuf {
        self.directory.join("repositories")
    }

    pub(super) fn indexes(&self) -> PathBuf {
        self.directory.join("indexes")
    }

    /// Returns the file of the index of a working directory.
    pub(super) fn index(&self, root: &Path) -> PathBuf {
        Index::path(&self.indexes(), root)
    }

    /// Waits until no contents are being removed. They stay until the result is dropped.
    pub(super) fn share(&self) -> Result<File, CheckpointError> {
        let path = self.directory.join("lock");
        let lock = fs::create_dir_all(&self.directory).and_then(|()| open(&path));
        let shared = lock.and_then(|file| file.lock_shared().map(|()| file));
        shared.map_err(CheckpointError::io("lock", path))
    }

    /// Takes the store for the removal of contents. Returns `None` while a session uses it.
    pub(super) fn try_exclusive(&self) -> io::Result<Option<File>> {
        try_exclusive(&self.directory.join("lock"))
    }

    /// Records that contents were added.
    pub(super) fn count(&self, added: u64) {
        if added == 0 {
            return;
        }
        let file = OpenOptions::new().create(true).append(true).open(self.added());
        // Without the record, the size is only wrong until contents are removed the next time.
        let _ = file.and_then(|mut file| writeln!(file, "{added}"));
    }

    /// Records the size of all contents.
    pub(super) fn set_size(&self, size: u64) -> io::Result<()> {
        pi_fs::write(&self.added(), pi_fs::Access::Private, format!("{size}\n").as_bytes())?;
        fs::write(self.directory.join("collected"), "")
    }

    /// Returns true if the store is larger than it may be, or has not been cleaned for a while.
    pub(super) fn is_due(&self, most: u64) -> bool {
        let added = fs::read_to_string(self.added()).unwrap_or_default();
        let size: u64 = added.lines().filter_map(|line| line.parse::<u64>().ok()).sum();
        let collected = self.directory.join("collected");
        let last = fs::metadata(&collected).and_then(|metadata| metadata.modified());
        match last {
            _ if size > most => true,
            Ok(last) => SystemTime::now().duration_since(last).is_ok_and(|age| age > INTERVAL),
            // Never: the interval begins now.
            Err(_) => {
                let _ = fs::write(collected, "");
                false
            }
        }
    }

    fn added(&self) -> PathBuf {
        self.directory.join("added")
    }
}

impl Lease {
    /// Protects the checkpoints in the directory of a session, and creates it.
    pub(super) fn take(session: &Path) -> Result<Self, CheckpointError> {
        let path = session.join("lock");
        let take = || {
            loop {
                fs::create_dir_all(session)?;
                let file = open(&path)?;
                file.lock_shared()?;
                // The directory may have been removed before the lock was taken.
                if path.exists() {
                    return Ok(file);
                }
            }
        };
        let file = take().map_err(CheckpointError::io("lock", &path))?;
        Ok(Self { _file: Arc::new(file) })
    }

    /// Returns a lock for the removal of a session, or `None` while a process uses it.
    pub(super) fn try_end(session: &Path) -> io::Result<Option<File>> {
        try_exclusive(&session.join("lock"))
    }
}

fn try_exclusive(path: &Path) -> io::Result<Option<File>> {
    let file = open(path)?;
    Ok(pi_fs::try_lock(&file, Duration::ZERO)?.then_some(file))
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path)
}
