//! The directories in which the callers of a server can work.

use std::path::{Path, PathBuf};

use pi_coding_agent::Environment;

/// Directories with everything below them, without links in their paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directories(Vec<PathBuf>);

/// Reasons why a directory cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DirectoryError {
    /// The path is no directory.
    #[error("{}: {problem}", path.display())]
    Unusable {
        /// The path.
        path: PathBuf,
        /// Problem of the path.
        problem: String,
    },
    /// The directory is outside of those of the server.
    #[error("{} is not a directory of this server", .0.display())]
    Outside(PathBuf),
}

impl Directories {
    /// Takes the directories of a server.
    pub fn new(paths: &[PathBuf]) -> Result<Self, DirectoryError> {
        Ok(Self(paths.iter().map(|path| real(path)).collect::<Result<_, _>>()?))
    }

    /// Returns the directory that a caller asks for, if it can work there.
    pub fn choose(
        &self,
        wished: Option<&str>,
        environment: &Environment,
    ) -> Result<PathBuf, DirectoryError> {
        let path = match wished {
            Some(wished) => environment.expand(wished, &environment.cwd),
            // The working directory of the server may be outside of those that callers have.
            None if self.allows(&environment.cwd) => environment.cwd.clone(),
            None => self.0.first().cloned().unwrap_or_default(),
        };
        self.resolve(&path)
    }

    /// Returns a directory without links, if callers can work there.
    pub fn resolve(&self, path: &Path) -> Result<PathBuf, DirectoryError> {
        let path = real(path)?;
        if self.allows(&path) { Ok(path) } else { Err(DirectoryError::Outside(path)) }
    }

    /// Returns the directories of the server.
    pub fn roots(&self) -> &[PathBuf] {
        &self.0
    }

    /// Returns true if callers can work in a directory and see its sessions.
    pub fn allows(&self, directory: &Path) -> bool {
        let Ok(directory) = directory.canonicalize() else { return false };
        self.0.iter().any(|allowed| directory.starts_with(allowed))
    }
}

fn real(path: &Path) -> Result<PathBuf, DirectoryError> {
    let unusable = |problem: String| DirectoryError::Unusable { path: path.to_owned(), problem };
    let real = path.canonicalize().map_err(|error| unusable(error.to_string()))?;
    if real.is_dir() { Ok(real) } else { Err(unusable("not a directory".to_owned())) }
}
