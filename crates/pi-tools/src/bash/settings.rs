//! How commands run: what the person who made the workspace says about it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::executor::BaseEnvironment;

/// How commands run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BashSettings {
    /// The shell; without one, the `bash` of the executor, or its `sh`.
    pub shell: Option<PathBuf>,
    /// Runs before each command, in the same shell.
    pub command_prefix: Option<String>,
    /// What is set in the environment of commands.
    pub environment: BTreeMap<OsString, OsString>,
    /// What else is in it: nothing, unless this says so. For executors on other machines and in
    /// containers [`BaseEnvironment::Executor`] is right, with nothing of this machine in `environment`.
    pub base_environment: BaseEnvironment,
    /// For commands that are given none.
    pub default_timeout: Option<Duration>,
    /// Where output is kept that is too long to show, on the machine of this program. Without a
    /// directory it is not kept.
    pub output_directory: Option<PathBuf>,
    /// Bytes of it that are kept.
    pub output_limit: u64,
}

impl Default for BashSettings {
    fn default() -> Self {
        Self {
            shell: None,
            command_prefix: None,
            environment: BTreeMap::new(),
            base_environment: BaseEnvironment::default(),
            default_timeout: None,
            output_directory: None,
            output_limit: 1024 * 1024 * 1024,
        }
    }
}
