//! What can be wrong with a file of the user, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use crate::Diagnostic;

/// Why a file was not read or not written. A file that is named here is as it was.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is there but cannot be read.
    #[error("cannot be read: {source}; check its permissions")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Not JSON.
    #[error("line {line}, column {column}: {problem}; correct the file, until then it is not used")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// What the parser expected.
        problem: String,
    },
    /// JSON of another shape.
    #[error("{problem}; correct the file, until then it is not used")]
    Shape {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// Another program is writing and does not stop.
    #[error(
        "another program has been writing it for too long; \
         if none is running, remove the directory {}", lock.display()
    )]
    Locked {
        /// The file.
        path: PathBuf,
        /// What marks it as taken.
        lock: PathBuf,
    },
    /// We were so slow that another program took us for dead.
    #[error("another program took over while it was being changed; nothing was written, try again")]
    LockLost {
        /// The file.
        path: PathBuf,
    },
    /// The disk is full or read-only, or the directory belongs to somebody else.
    #[error("cannot be written: {source}; the old content is untouched, {}", advice(source))]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The settings of a project that has no say.
    #[error("the project is not trusted, so its settings were not changed; trust it first")]
    NotTrusted {
        /// The file.
        path: PathBuf,
    },
    /// A stored credential that is of no use.
    #[error("the entry for {provider:?}: {problem}")]
    Credential {
        /// The file.
        path: PathBuf,
        /// Whose it is.
        provider: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// Nobody said where the user's files are.
    #[error("no home directory is known; set HOME or PI_CODING_AGENT_DIR")]
    NoHome,
}

impl ConfigError {
    /// The file that it is about.
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

    /// The same as something to tell the user without stopping.
    pub fn diagnostic(&self) -> Diagnostic {
        Diagnostic::error(self.path().map(Path::to_owned), self.to_string())
    }

    pub(super) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Write { path: path.to_owned(), source }
    }
}

fn advice(error: &io::Error) -> &'static str {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, StorageFull};
    match error.kind() {
        StorageFull => "make room on the disk",
        ReadOnlyFilesystem => "make the disk writable, or set PI_CODING_AGENT_DIR to another place",
        PermissionDenied => "make the file and its directory writable for you",
        _ => "check the file and its directory",
    }
}
