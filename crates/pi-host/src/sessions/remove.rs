//! Removal of sessions with their checkpoints.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pi_config::checkpoints::{checkpoint_directory, checkpoints_directory};
use pi_fs::if_exists;
use pi_session::{OpenOptions, Session, SessionError, SessionInfo};
use pi_tools::checkpoint::{self, CheckpointError, Limits};

/// Reasons why a session cannot be removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoveError {
    /// The session cannot be opened, or another process has it open.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The file or directory cannot be removed.
    #[error("cannot remove {}: {source}", path.display())]
    Io {
        /// File or directory.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

/// Removes a session with its checkpoints, unless another process has it open. `remove` removes its
/// file.
pub fn remove(
    session: &SessionInfo,
    agent: &Path,
    remove: impl FnOnce(&Path) -> io::Result<()>,
) -> Result<(), RemoveError> {
    let failed = |path: &Path, source| RemoveError::Io { path: path.to_owned(), source };
    let path = &session.path;
    let lock = Session::open(path, &OpenOptions::append())?;
    remove(path).map_err(|error| failed(path, error))?;
    drop(lock);
    let checkpoints = checkpoint_directory(agent, &session.id);
    let removed = if_exists(std::fs::remove_dir_all(&checkpoints));
    removed.map(drop).map_err(|error| failed(&checkpoints, error))
}

/// Removes contents of checkpoints that no session needs any more. While another process takes a
/// checkpoint, that is left to a later removal.
pub fn remove_unused_contents(agent: &Path) -> Result<(), CheckpointError> {
    let checkpoints = checkpoints_directory(agent);
    // The checkpoints of other sessions stay, at any age and size.
    let mut limits = Limits::default();
    (limits.store_bytes, limits.age) = (u64::MAX, Duration::MAX);
    checkpoint::prune(&checkpoints, &limits, SystemTime::now())?;
    Ok(())
}
