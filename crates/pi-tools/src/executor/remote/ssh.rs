//! Another machine, through the user's own `ssh`, which knows keys, jumps and names.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::super::{BaseEnvironment, Command};
use super::script;

/// A machine that `ssh` reaches without asking.
#[derive(Debug, Clone)]
pub struct Ssh {
    /// The program `ssh`.
    pub program: PathBuf,
    /// Whom it is called for: a host, `user@host`, or a name of its configuration.
    pub destination: String,
    /// Further options, such as `-p 2222` or `-F file`, each word by itself.
    pub options: Vec<OsString>,
    /// The environment of `ssh` itself, on this machine: it needs `HOME` and, for an agent with
    /// keys, `SSH_AUTH_SOCK`.
    pub environment: BTreeMap<OsString, OsString>,
    /// One connection is opened and used by all that follows. Without, each opens its own.
    pub shared: bool,
}

impl Ssh {
    /// The machine `destination`, with nothing said about it beside what the user's configuration
    /// says.
    pub fn new(destination: impl Into<String>) -> Self {
        Self {
            program: PathBuf::from("/usr/bin/ssh"),
            destination: destination.into(),
            options: Vec::new(),
            environment: BTreeMap::new(),
            shared: true,
        }
    }

    /// The command that runs a script there, through the connection behind `socket` if that is up.
    pub(super) fn command(
        &self,
        script: &str,
        arguments: &[OsString],
        socket: Option<&Path>,
    ) -> Command {
        let path = socket.map_or(OsStr::new("none"), Path::as_os_str);
        self.call(["ControlMaster=no".into(), control_path(path)], script, arguments)
    }

    /// The command that opens a connection for others behind `socket`.
    pub(super) fn shared_connection(&self, socket: &Path, script: &str) -> Command {
        let control = ["ControlMaster=yes".into(), control_path(socket.as_os_str())];
        self.call(control, script, &[])
    }

    fn call(&self, control: [OsString; 2], script: &str, arguments: &[OsString]) -> Command {
        // The first that is said counts: these, then what the user says, then what is only a
        // default.
        let fixed = ["BatchMode=yes", "RemoteCommand=none", "ClearAllForwardings=yes"];
        let defaults = ["ServerAliveInterval=15", "ServerAliveCountMax=3"];
        let option = |option: OsString| [OsString::from("-o"), option];
        let mut words = vec![OsString::from("-T")];
        words.extend(fixed.map(OsString::from).into_iter().chain(control).flat_map(option));
        words.extend(self.options.iter().cloned());
        words.extend(defaults.map(OsString::from).into_iter().flat_map(option));
        words.extend(["--".into(), OsString::from(&self.destination)]);
        words.push(script::line(script, arguments));
        Command {
            program: self.program.clone(),
            arguments: words,
            cwd: PathBuf::from("/"),
            environment: self.environment.clone(),
            base_environment: BaseEnvironment::Empty,
        }
    }
}

/// The option for the socket; percent signs have a meaning in it.
fn control_path(path: &OsStr) -> OsString {
    OsString::from(format!("ControlPath={}", path.to_string_lossy().replace('%', "%%")))
}
