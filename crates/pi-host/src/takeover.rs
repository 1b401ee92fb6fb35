//! Taking a session over from another program.
//!
//! A log has one writer. A host that wants a log which another host has open leaves a request
//! beside it; the other host closes the session as soon as it is not busy. Programs that are no
//! hosts do not look for requests: their sessions stay with them.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pi_session::is_locked;

/// Pause between two looks at a lock.
const PAUSE: Duration = Duration::from_millis(50);

/// A request for a log, until it is dropped. Its file is locked meanwhile: one that a killed process
/// left behind asks for nothing.
pub(crate) struct Request {
    path: PathBuf,
    _lock: File,
}

impl Request {
    /// Leaves a request beside a log.
    pub(crate) fn leave(log: &Path) -> io::Result<Self> {
        let path = path(log);
        let lock = File::create(&path)?;
        lock.lock()?;
        Ok(Self { path, _lock: lock })
    }

    /// Waits until the log is free. Returns false if it is not free in time.
    pub(crate) async fn granted(&self, log: &Path, patience: Duration) -> bool {
        let waiting = async {
            while is_used(log).await {
                tokio::time::sleep(PAUSE).await;
            }
        };
        tokio::time::timeout(patience, waiting).await.is_ok()
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        // A file that stays behind is not locked.
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns true if a program has locked a log or a request. On a thread of its own: a look at a lock
/// takes up to a tenth of a second.
pub(crate) async fn is_used(log: &Path) -> bool {
    let log = log.to_owned();
    tokio::task::spawn_blocking(move || is_locked(&log)).await.unwrap_or_default()
}

/// Returns true if another program asks for a log.
pub(crate) async fn is_requested(log: &Path) -> bool {
    let path = path(log);
    path.exists() && is_used(&path).await
}

fn path(log: &Path) -> PathBuf {
    let mut name = log.as_os_str().to_owned();
    name.push(".takeover");
    name.into()
}
