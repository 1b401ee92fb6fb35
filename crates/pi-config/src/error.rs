//! Errors of reading and writing the user's files.

use std::io;
use std::path::{Path, PathBuf};

use crate::Diagnostic;

/// The reasons why a file was not read or written. The file itself is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file exists but cannot be read.
    #[error("cannot be read: {source}; check its permissions")]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The file is not valid JSON.
    #[error("line {line}, column {column}: {problem}; correct the file")]
    Syntax {
        /// Path of the file.
        path: PathBuf,
        /// Line, counted from 1.
        line: usize,
        /// Column in characters, counted from 1.
        column: usize,
        /// Error of the parser.
        problem: String,
    },
    /// The file is JSON of another structure.
    #[error("{problem}; correct the file")]
    Shape {
        /// Path of the file.
        path: PathBuf,
        /// Description of the problem.
        problem: String,
    },
    /// Another program does not release the lock.
    #[error(
        "another program holds its lock for too long; \
         if no other program is running, remove the directory {}", lock.display()
    )]
    Locked {
        /// Path of the file.
        path: PathBuf,
        /// Directory that is the lock.
        lock: PathBuf,
    },
    /// The change took so long that another program removed the lock as stale.
    #[error("another program took over its lock during the change; nothing was written, try again")]
    LockLost {
        /// Path of the file.
        path: PathBuf,
    },
    /// The file cannot be written.
    #[error("cannot be written: {source}; the old content is unchanged; {}", advice(source))]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The project is not trusted.
    #[error("the project is not trusted, so its settings were not changed; trust it first")]
    NotTrusted {
        /// Path of the file.
        path: PathBuf,
    },
    /// A stored credential is invalid.
    #[error("the entry for {provider:?}: {problem}")]
    Credential {
        /// Path of the file.
        path: PathBuf,
        /// Provider of the credential.
        provider: String,
        /// Description of the problem, and what to do.
        problem: String,
    },
    /// The directory of the user's files is not known.
    #[error("the home directory is not known; set HOME or PI_CODING_AGENT_DIR")]
    NoHome,
}

impl ConfigError {
    /// Returns the file that the error is about.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Read { path, .. }
            | Self::Syntax { path, .. }
            | Self::Shape { path, .. }
            | Self::Locked { path, .. }
            | Self::LockLost { path }
            | Self::NotTrusted { path }
            | Self::Write { path, .. }
            | Self::Credential { path, .. } => Some(path),
            Self::NoHome => None,
        }
    }

    /// Returns the error as a diagnostic.
    pub fn diagnostic(&self) -> Diagnostic {
        Diagnostic::error(self.path().map(Path::to_owned), self.to_string())
    }

    /// Returns the error of a failed write to a file.
    pub fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Write { path: path.to_owned(), source }
    }
}

fn advice(error: &io::Error) -> &'static str {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, StorageFull};
    match error.kind() {
        StorageFull => "free space on the disk",
        ReadOnlyFilesystem => {
            "make the file system writable, or set PI_CODING_AGENT_DIR to another directory"
        }
        PermissionDenied => "make the file and its directory writable",
        _ => "check the file and its directory",
    }
}
