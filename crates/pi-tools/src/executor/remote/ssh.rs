//! Another machine, through the user's own `ssh`, which has the keys, jump hosts and aliases.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::super::Command;
use super::script;

/// Options that override the user's configuration: no prompts, and no command or port forwarding
/// of its own.
const FIXED: [&str; 3] = ["BatchMode=yes", "RemoteCommand=none", "ClearAllForwardings=yes"];
/// Options that end a connection to a machine that does not answer.
const PATIENCE: [&str; 3] =
    ["ConnectTimeout=15", "ServerAliveInterval=15", "ServerAliveCountMax=3"];

/// A machine that `ssh` reaches without prompting.
#[derive(Debug, Clone)]
pub(in crate::executor) struct Ssh {
    /// Path of `ssh`.
    pub(in crate::executor) program: PathBuf,
    /// A host, `user@host`, or an alias of the user's configuration.
    pub(in crate::executor) destination: String,
    /// Environment of `ssh` on this machine: `HOME` and, for an agent with keys, `SSH_AUTH_SOCK`.
    pub(in crate::executor) environment: BTreeMap<OsString, OsString>,
}

impl Ssh {
    /// Returns the command that runs a script there, through the shared connection behind `socket`
    /// if that is up.
    pub(super) fn command(
        &self,
        script: &str,
        arguments: &[OsString],
        socket: Option<&Path>,
    ) -> Command {
        let path = socket.map_or(OsStr::new("none"), Path::as_os_str);
        self.call(["ControlMaster=no".into(), control_path(path)], script, arguments)
    }

    /// Returns the command that opens a shared connection behind `socket`.
    pub(super) fn shared_connection(&self, socket: &Path, script: &str) -> Command {
        let control = ["ControlMaster=yes".into(), control_path(socket.as_os_str())];
        self.call(control, script, &[])
    }

    fn call(&self, control: [OsString; 2], script: &str, arguments: &[OsString]) -> Command {
        let options = FIXED.into_iter().chain(PATIENCE).map(OsString::from).chain(control);
        let options = options.flat_map(|option| [OsString::from("-o"), option]);
        Command::new(&self.program, "/")
            .arguments(["-T"])
            .arguments(options)
            .arguments(["--", &self.destination])
            .arguments([script::line(script, arguments)])
            .environment(self.environment.clone())
    }
}

/// Returns the option for the socket; percent signs are special in it.
fn control_path(path: &OsStr) -> OsString {
    OsString::from(format!("ControlPath={}", path.to_string_lossy().replace('%', "%%")))
}
