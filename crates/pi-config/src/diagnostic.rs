//! Problems in the user's files that do not stop the program.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

/// The severity of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Part of a file is ignored or was corrected.
    Warning,
    /// A requested function does not work.
    Error,
}

/// A problem with advice.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// Severity of the problem.
    pub severity: Severity,
    /// File with the problem.
    pub path: Option<PathBuf>,
    /// Description of the problem, and what to do.
    pub message: String,
}

impl Diagnostic {
    /// Creates a warning.
    pub fn warning(path: impl Into<Option<PathBuf>>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, path: path.into(), message: message.into() }
    }

    /// Creates an error.
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
