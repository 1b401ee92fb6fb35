//! The directory of a run: everything that is needed to continue it, here or on another machine.
//!
//! | File | Content |
//! |---|---|
//! | `contract.json` | the contract |
//! | `state.json` | the step of the run, written before the step begins |
//! | `journal.jsonl` | tool calls before they are executed, and their results |
//! | `pending.json` | actions that wait for approval |
//! | `sessions/` | the session log of each attempt |
//! | `invalid-output.txt` | the last result, if it stayed invalid |
//! | `report.json` | the report |
//!
//! Files are replaced as a whole, and the journal is only appended to, so that a process that is
//! killed leaves no torn file behind.

mod id;
mod journal;
mod list;
mod state;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pi_fs::{FileError, if_exists};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use journal::{CallState, Journal, JournalEntry, Recorded};
pub use list::{RunInfo, list_runs};
pub(crate) use state::{RunState, Step};

/// Name of the file with the report.
pub(crate) const REPORT: &str = "report.json";
/// Name of the file with the contract.
pub(crate) const CONTRACT: &str = "contract.json";
/// Name of the file with the state.
pub(crate) const STATE: &str = "state.json";
/// Name of the file with the actions that wait for approval.
pub(crate) const PENDING: &str = "pending.json";

const LOCK: &str = "lock";

/// Reasons why the directory of a run cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DirectoryError {
    /// No run matches.
    #[error("no run matches {0:?}")]
    NotFound(String),
    /// Several runs match.
    #[error("{0:?} matches {count} runs: {list}", count = .1.len(), list = .1.join(", "))]
    Ambiguous(String, Vec<String>),
    /// Another process executes the run.
    #[error("the run {0} is in use by another process")]
    InUse(String),
    /// A file was written by a newer version of the program.
    #[error("{} has version {found}, and this program reads versions up to {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Version of the file.
        found: u64,
        /// The newest version that can be read.
        known: u32,
    },
    /// A file is not what the program wrote.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// A file operation failed.
    #[error(transparent)]
    Io(#[from] FileError),
}

impl DirectoryError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        FileError::at(action, path)
    }
}

/// Returns the directory of a run: its id, a part of it, or a path.
pub fn find_run(runs: &Path, reference: &str) -> Result<PathBuf, DirectoryError> {
    id::find(runs, reference)
}

/// The directory of a run, locked by this process. A process that ends, also by a signal, releases
/// its lock.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
    id: String,
    _lock: File,
}

impl RunDirectory {
    /// Creates the directory of a new run in the directory of all runs.
    pub fn create(runs: &Path) -> Result<Self, DirectoryError> {
        pi_fs::create_private(runs).map_err(DirectoryError::io("create", runs))?;
        loop {
            let id = id::new_id();
            let path = runs.join(&id);
            match pi_fs::private_directory().create(&path) {
                Ok(()) => {}
                // Another run has begun in the same second and with the same random part.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(DirectoryError::io("create", &path)(error)),
            }
            return Self::lock(path, id);
        }
    }

    /// Opens the directory of a run: by its path, its id, the beginning of its id, or the last part
    /// of its id.
    pub fn open(runs: &Path, reference: &str) -> Result<Self, DirectoryError> {
        let path = id::find(runs, reference)?;
        let id = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self::lock(path, id)
    }

    fn lock(path: PathBuf, id: String) -> Result<Self, DirectoryError> {
        let file = path.join(LOCK);
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        let lock = options.open(&file).map_err(DirectoryError::io("open", &file))?;
        // A process that was killed a moment ago may still hold the lock.
        const PATIENCE: Duration = Duration::from_millis(200);
        match pi_fs::try_lock_where_supported(&lock, PATIENCE) {
            Ok(true) => Ok(Self { path, id, _lock: lock }),
            Ok(false) => Err(DirectoryError::InUse(id)),
            Err(error) => Err(DirectoryError::io("lock", &file)(error)),
        }
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the id of the run.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the directory of the session logs.
    pub fn sessions(&self) -> PathBuf {
        self.path.join("sessions")
    }

    /// Replaces a file by a value as JSON.
    pub(crate) fn write(&self, name: &str, value: &impl Serialize) -> Result<(), DirectoryError> {
        let path = self.path.join(name);
        let failed = DirectoryError::io("write", &path);
        let text = serde_json::to_vec_pretty(value).map_err(io::Error::from);
        text.and_then(|text| pi_fs::replace(&path, &text)).map_err(failed)
    }

    /// Reads a file that [`RunDirectory::write`] wrote; `None` if it does not exist.
    pub(crate) fn read<T: DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<Option<T>, DirectoryError> {
        read(&self.path.join(name))
    }
}

/// Reads a JSON file; `None` if it does not exist.
fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, DirectoryError> {
    let text = if_exists(fs::read(path)).map_err(DirectoryError::io("read", path))?;
    let Some(text) = text else { return Ok(None) };
    serde_json::from_slice(&text).map(Some).map_err(|error| DirectoryError::Damaged {
        path: path.to_owned(),
        reason: error.to_string(),
    })
}
