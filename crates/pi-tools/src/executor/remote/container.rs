//! A running container, through the command line of its engine.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use super::super::Command;

/// A running container of `docker` or `podman`.
#[derive(Debug, Clone)]
pub(in crate::executor) struct Container {
    /// Path of the engine's program.
    pub(in crate::executor) program: PathBuf,
    /// Name or id of the container.
    pub(in crate::executor) name: String,
    /// Environment of the program on this machine: `HOME`, `DOCKER_HOST` and the like.
    pub(in crate::executor) environment: BTreeMap<OsString, OsString>,
}

impl Container {
    /// Returns the command that runs a script in the container.
    pub(super) fn command(&self, script: &str, arguments: &[OsString]) -> Command {
        Command::new(&self.program, "/")
            .arguments(["exec", "-i", &self.name, "sh", "-c", script, "sh"])
            .arguments(arguments.iter().cloned())
            .environment(self.environment.clone())
    }
}
