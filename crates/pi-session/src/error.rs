//! What can go wrong with a session, and what to do about it.

use std::io;
use std::path::PathBuf;

/// Why a session could not be opened, read or written. Nothing is lost in any of these cases:
/// the file is as it was, and so is the session in memory.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file has content, but its first entry is not a session header.
    #[error("Session file is not a valid pi session: {}", .0.display())]
    NotASession(PathBuf),
    /// The file's version is newer than this program.
    #[error("{} has version {version}, which is newer than this program understands; update pi", path.display())]
    TooNew {
        /// The session file.
        path: PathBuf,
        /// The version in its header.
        version: u64,
    },
    /// Another process has the session open for writing.
    #[error("{} is open in another pi; close it there, or fork the session", .0.display())]
    Locked(PathBuf),
    /// The file was deleted, replaced or cut short while it was open.
    #[error("{} was deleted, replaced or cut short by another program; fork the session to go on", .0.display())]
    Replaced(PathBuf),
    /// The session was opened for reading.
    #[error("{} was opened for reading only", .0.display())]
    ReadOnly(PathBuf),
    /// The session exists in memory only so far.
    #[error("This session has not been saved yet. Send a message before cloning or forking it.")]
    NotSaved,
    /// There is no entry with this id.
    #[error("Entry ID not found: {0}")]
    UnknownEntry(String),
    /// The entry's line cannot be read.
    #[error("entry {id} is damaged: {reason}")]
    Damaged {
        /// The entry.
        id: String,
        /// What is wrong with its line.
        reason: String,
    },
    /// The entry is not of a kind that can be edited in the context.
    #[error(
        "entry {0} cannot be edited: only user, assistant, tool-result and custom messages on the current branch can"
    )]
    NotEditable(String),
    /// The entry is not of the kind the operation needs.
    #[error("entry {id} is not {expected}")]
    WrongKind {
        /// The entry.
        id: String,
        /// What it should have been.
        expected: &'static str,
    },
    /// A session id that cannot be part of a file name.
    #[error(
        "invalid session id {0:?}: use letters, digits, '.', '_' and '-', beginning and ending with a letter or digit"
    )]
    InvalidId(String),
    /// Something cannot be written as JSON.
    #[error("cannot write the entry as JSON: {0}")]
    Encode(#[from] serde_json::Error),
}

impl SessionError {
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}
