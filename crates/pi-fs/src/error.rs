//! The error of a file operation, with the file.

use std::io;
use std::path::PathBuf;

/// A file operation failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub struct FileError {
    /// The operation, as a verb.
    pub action: &'static str,
    /// The file or directory.
    pub path: PathBuf,
    /// The error of the operating system.
    pub source: io::Error,
}

impl FileError {
    /// Returns a function that adds operation and path to an error, for `map_err`.
    pub fn at<E: From<Self>>(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> E {
        let path = path.into();
        move |source| Self { action, path, source }.into()
    }
}
