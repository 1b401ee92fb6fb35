//! What the tools of one agent share: where they work, and on what.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::bash::BashSettings;
use crate::executor::Executor;
use crate::paths;

/// A directory on an executor.
#[derive(Debug, Clone)]
pub struct Workspace {
    executor: Arc<dyn Executor>,
    cwd: PathBuf,
    home: Option<PathBuf>,
    bash: BashSettings,
}

impl Workspace {
    /// A workspace at `cwd`, which is absolute. `home` is what `~` stands for.
    pub fn new(executor: Arc<dyn Executor>, cwd: PathBuf, home: Option<PathBuf>) -> Self {
        Self { executor, cwd, home, bash: BashSettings::default() }
    }

    /// Says how commands run.
    #[must_use]
    pub fn with_bash(self, bash: BashSettings) -> Self {
        Self { bash, ..self }
    }

    /// The directory that relative paths are seen from.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Where files are.
    pub fn executor(&self) -> &dyn Executor {
        &*self.executor
    }

    /// How commands run.
    pub fn bash(&self) -> &BashSettings {
        &self.bash
    }

    /// The file that a path of a model means.
    pub fn resolve(&self, path: &str) -> PathBuf {
        paths::resolve(path, &self.cwd, self.home.as_deref())
    }
}
