//! Settings of commands, made by the application that creates the workspace.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use super::saved::SavedOutput;
use crate::executor::BaseEnvironment;

/// Settings of commands.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BashSettings {
    /// Path of the shell on the executor. By default `bash`, or `sh` if there is none.
    pub shell: Option<PathBuf>,
    /// Script that runs before each command, in the same shell.
    pub command_prefix: Option<String>,
    /// Environment variables to set for commands.
    pub environment: BTreeMap<OsString, OsString>,
    /// Environment to which `environment` is added. Use
    /// [`ConnectedExecutor::base_environment`](crate::ConnectedExecutor::base_environment) for
    /// remote executors, and put no variables of this machine into `environment` then.
    pub base_environment: BaseEnvironment,
    /// Timeout of commands that have none of their own.
    pub default_timeout: Option<Duration>,
    /// Longest timeout, also for commands that have none of their own.
    pub max_timeout: Option<Duration>,
    /// Directory of this machine for output that is too long for a result. Without a directory it
    /// is not saved. The files are removed by [`Self::remove_saved`], or with the last clone of these
    /// settings.
    pub output_directory: Option<PathBuf>,
    /// Maximum size of the saved output of a command in bytes.
    pub output_limit: u64,
    pub(crate) saved: SavedOutput,
}

impl Default for BashSettings {
    fn default() -> Self {
        Self {
            shell: None,
            command_prefix: None,
            environment: BTreeMap::new(),
            base_environment: BaseEnvironment::default(),
            default_timeout: None,
            max_timeout: None,
            output_directory: None,
            output_limit: 64 * 1024 * 1024,
            saved: SavedOutput::default(),
        }
    }
}

impl BashSettings {
    /// Saves output of a tool in a file that only the user can read and that is removed like long
    /// output of commands. Returns its path; `None` without a directory. The name ends with
    /// `suffix`, such as `.txt`.
    pub fn save(&self, suffix: &str, bytes: &[u8]) -> io::Result<Option<PathBuf>> {
        let Some(directory) = &self.output_directory else { return Ok(None) };
        let (mut file, path) = self.saved.create(directory, suffix)?;
        file.write_all(bytes)?;
        Ok(Some(path))
    }

    /// Removes the saved output, at the end of the session.
    pub fn remove_saved(&self) {
        self.saved.remove();
    }
}
