//! What is wrong with the user's files, said without stopping.

use std::fmt;
use std::path::PathBuf;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something was left out or corrected.
    Warning,
    /// Something that was asked for does not work.
    Error,
}

/// One problem, with what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The file it is about.
    pub path: Option<PathBuf>,
    /// What is wrong, and what to do.
    pub message: String,
}

impl Diagnostic {
    /// A warning.
    pub fn warning(path: impl Into<Option<PathBuf>>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, path: path.into(), message: message.into() }
    }

    /// Reports a failure of an extension.
    pub(crate) fn from_failure(failure: &crate::extension::ExtensionFailure) -> Self {
        let crate::extension::ExtensionFailure { extension, event, error, .. } = failure;
        Self::warning(None, format!("Extension error ({extension}) in {event}: {error}"))
    }

    /// An error.
    pub fn error(path: impl Into<Option<PathBuf>>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, path: path.into(), message: message.into() }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}: ", path.display())?;
        }
        f.write_str(&self.message)
    }
}
