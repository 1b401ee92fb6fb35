//! Errors of sessions.

use std::io;
use std::path::PathBuf;

use pi_fs::FileError;

/// An error while a session was opened, read or written. The file and the session in memory are
/// unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// A file operation failed.
    #[error(transparent)]
    Io(#[from] FileError),
    /// The file has content, but does not begin with a session header.
    #[error("Session file is not a valid pi session: {}", .0.display())]
    NotASession(PathBuf),
    /// The version of the file is newer than this program.
    #[error("{} has version {version}, which is newer than this program understands; update pi", path.display())]
    TooNew {
        /// The path of the session file.
        path: PathBuf,
        /// The version in the header.
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
    /// The session has no file yet.
    #[error("This session has not been saved yet. Send a message before cloning or forking it.")]
    NotSaved,
    /// No entry has this id.
    #[error("Entry ID not found: {0}")]
    UnknownEntry(String),
    /// The line of an entry cannot be parsed.
    #[error("entry {id} is damaged: {reason}")]
    Damaged {
        /// The id of the entry.
        id: String,
        /// The defect of the line.
        reason: String,
    },
    /// The entry is not of a kind that can be edited in the context.
    #[error(
        "entry {0} cannot be edited: only user, assistant, tool-result and custom messages on the current branch can"
    )]
    NotEditable(String),
    /// The entry is not of the kind that the operation requires.
    #[error("entry {id} is not {expected}")]
    WrongKind {
        /// The id of the entry.
        id: String,
        /// The required kind.
        expected: &'static str,
    },
    /// The session id cannot be part of a file name.
    #[error(
        "invalid session id {0:?}: use letters, digits, '.', '_' and '-', beginning and ending with a letter or digit"
    )]
    InvalidId(String),
    /// The current branch has no messages, which the format of the export requires.
    #[error("the session has no messages to export; choose another session or format")]
    NoMessages,
    /// An entry cannot be written as JSON.
    #[error("cannot write the entry as JSON: {0}")]
    Encode(#[from] serde_json::Error),
}

impl SessionError {
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        FileError::at(action, path)
    }
}
