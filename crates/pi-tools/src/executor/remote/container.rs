//! A container, through the command line of the engine that has it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::super::{BaseEnvironment, Command};

/// A container of an engine such as `docker` or `podman`.
#[derive(Debug, Clone)]
pub struct Container {
    /// The program of the engine.
    pub program: PathBuf,
    /// Its environment, on this machine: `HOME`, `DOCKER_HOST` and the like.
    pub environment: BTreeMap<OsString, OsString>,
    /// Which container.
    pub which: Which,
    /// Host directories and where they are in the container. For a container that runs already
    /// they say what is there; a new one is given them.
    pub mounts: Vec<(PathBuf, PathBuf)>,
    /// The user that everything runs as, as the engine takes it: a number, `number:number`, a
    /// name. The image's own, if nothing is said.
    pub user: Option<String>,
}

/// Which container.
#[derive(Debug, Clone)]
pub enum Which {
    /// One that runs, by its name or id. It is left as it is.
    Running(String),
    /// A new one, which lives as long as the executor.
    New {
        /// The image. It needs a POSIX shell and the usual small programs (coreutils, busybox).
        image: String,
        /// Whether it has a network.
        network: Network,
        /// Further options for `run`, each word by itself.
        options: Vec<OsString>,
    },
}

/// Whether a container has a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// The engine's usual one.
    Usual,
    /// None.
    None,
}

impl Container {
    /// The path in the container of a directory or file of this machine, if it is mounted there.
    pub fn path_of(&self, host: &Path) -> Option<PathBuf> {
        // The innermost mount is the one that is seen.
        let around = self.mounts.iter().filter(|(from, _)| host.starts_with(from));
        let (from, to) = around.max_by_key(|(from, _)| from.components().count())?;
        let rest = host.strip_prefix(from).ok()?;
        Some(if rest.as_os_str().is_empty() { to.clone() } else { to.join(rest) })
    }

    /// The command that starts a new container as `name`, which runs until its input ends; nothing
    /// for one that runs.
    pub(super) fn start(&self, name: &str, script: &str) -> Option<Command> {
        let Which::New { image, network, options } = &self.which else { return None };
        let mut words: Vec<OsString> =
            ["run", "-i", "--rm", "--name", name].map(OsString::from).to_vec();
        for (from, to) in &self.mounts {
            let mut mount = from.clone().into_os_string();
            mount.push(":");
            mount.push(to);
            words.extend(["-v".into(), mount]);
        }
        if let Some(user) = &self.user {
            words.extend(["-u".into(), OsString::from(user)]);
        }
        if *network == Network::None {
            words.push("--network=none".into());
        }
        words.extend(options.iter().cloned());
        // Images may have a program of their own that would take ours for its arguments.
        words.extend(["--entrypoint", "sh", image, "-c", script].map(OsString::from));
        Some(self.call(words))
    }

    /// The command that runs a script in the container `name`.
    pub(super) fn command(&self, name: &str, script: &str, arguments: &[OsString]) -> Command {
        let mut words: Vec<OsString> = ["exec", "-i"].map(OsString::from).to_vec();
        if let Some(user) = &self.user {
            words.extend(["-u".into(), OsString::from(user)]);
        }
        words.extend([name, "sh", "-c", script, "sh"].map(OsString::from));
        words.extend(arguments.iter().cloned());
        self.call(words)
    }

    fn call(&self, arguments: Vec<OsString>) -> Command {
        Command {
            program: self.program.clone(),
            arguments,
            cwd: PathBuf::from("/"),
            environment: self.environment.clone(),
            base_environment: BaseEnvironment::Empty,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_where_the_innermost_mount_puts_it() {
        let container = Container {
            program: "/bin/engine".into(),
            environment: BTreeMap::new(),
            which: Which::Running("c".to_owned()),
            mounts: vec![("/home/u/p".into(), "/work".into()), ("/home/u".into(), "/home".into())],
            user: None,
        };
        let cases = [
            ("/home/u/p", Some("/work")),
            ("/home/u/p/src", Some("/work/src")),
            ("/home/u/pp", Some("/home/pp")),
            ("/home", None),
        ];
        for (host, expected) in cases {
            let found = container.path_of(Path::new(host));
            assert_eq!(found.as_deref(), expected.map(Path::new), "{host}");
        }
    }
}
