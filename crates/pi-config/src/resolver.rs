//! Values of configuration files that refer to a variable or to the output of a command
//! (`"!pass show key"`). They are resolved when they are needed.
//!
//! A command runs in its own process group, so that all its processes end on a timeout or when the
//! caller stops waiting.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pi_base::lock;
use pi_base::process::{self, Rights, Variables};
use pi_guard::secrets::Secrets;
use tokio::process::Command;
use tokio::sync::OnceCell;
use tokio::time::timeout;

use crate::Environment;
use crate::value::resolve_value;

/// Time limit of a command: long enough to unlock a password manager, but a prompt for a password
/// that is never typed must not hang the program.
const TIMEOUT: Duration = Duration::from_secs(60);

type Output = Result<String, String>;

/// The frequency with which a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandRuns {
    /// Once per process, since password managers are slow and ask questions. Failures are cached
    /// too.
    Once,
    /// Each time the value is needed, since a token may be valid for minutes only.
    EachTime,
}

/// Resolves values of configuration files.
pub struct ValueResolver {
    environment: Environment,
    timeout: Duration,
    /// Outputs of commands that run once, by command line.
    cached: Mutex<HashMap<String, Arc<OnceCell<Output>>>>,
}

impl ValueResolver {
    /// Creates a resolver that runs commands with the variables of the environment.
    pub fn new(environment: Environment) -> Self {
        Self { environment, timeout: TIMEOUT, cached: Mutex::default() }
    }

    /// Sets the time limit of a command.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Resolves a configured text. The variables in `own` take precedence over those of the
    /// environment; commands do not see them. The error is the reason why there is no value.
    pub async fn resolve(
        &self,
        text: &str,
        own: &BTreeMap<String, String>,
        runs: CommandRuns,
    ) -> Result<String, String> {
        if let Some(line) = text.strip_prefix('!') {
            return match runs {
                CommandRuns::Once => self.run_once(line).await,
                CommandRuns::EachTime => self.run(line).await,
            };
        }
        self.without_command(text, own)
    }

    /// Returns the reason why the text has no value; `None` if it may have one. Runs no command.
    pub fn problem(&self, text: &str, own: &BTreeMap<String, String>) -> Option<String> {
        if text.starts_with('!') { None } else { self.without_command(text, own).err() }
    }

    /// Resolves a text that is not a command.
    fn without_command(&self, text: &str, own: &BTreeMap<String, String>) -> Output {
        let variable = |name: &str| self.variable(name, own);
        match resolve_value(text, &variable) {
            Ok(value) if value.is_empty() => Err("it is empty".to_owned()),
            Ok(value) => Ok(value),
            Err(name) => Err(format!("the variable {name} is not set")),
        }
    }

    /// Returns a variable of `own`, else of the environment.
    pub fn variable(&self, name: &str, own: &BTreeMap<String, String>) -> Option<String> {
        own.get(name).cloned().or_else(|| self.environment.variable(name).map(str::to_owned))
    }

    async fn run_once(&self, line: &str) -> Output {
        let cell = {
            let mut cached = lock(&self.cached);
            Arc::clone(cached.entry(line.to_owned()).or_default())
        };
        // Concurrent callers wait for the same result.
        cell.get_or_init(|| self.run(line)).await.clone()
    }

    /// Runs a command line and returns its trimmed output.
    async fn run(&self, line: &str) -> Output {
        let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
        let program = [shell, flag, line];
        self.run_program(program.into_iter().map(str::to_owned).collect()).await
    }

    /// Returns the directory in which commands run: the agent directory. Programs load files of their
    /// working directory, and an agent can write that of the session.
    fn directory(&self) -> &Path {
        let own = self.environment.agent_directory.as_path();
        if own.is_dir() { own } else { &self.environment.cwd }
    }

    /// Removes the directories of the project from a search path, for the same reason. A home is no
    /// project, and its directories with programs are protected.
    fn without_project(&self, path: &str) -> OsString {
        let cwd = &self.environment.cwd;
        let holds_home = self.environment.home.as_ref().is_some_and(|home| home.starts_with(cwd));
        if cwd.parent().is_none() || holds_home {
            return path.into();
        }
        let kept = std::env::split_paths(path).filter(|entry| !entry.starts_with(cwd));
        std::env::join_paths(kept).unwrap_or_else(|_| path.into())
    }

    /// Runs a program with its arguments and returns its trimmed output.
    pub async fn run_program(&self, program: Vec<String>) -> Output {
        let Some((name, arguments)) = program.split_first() else {
            return Err("the command is empty".to_owned());
        };
        let directory = Some(self.directory());
        let start = process::command(name, directory, Variables::Empty, Rights::User);
        let mut command = Command::from(start);
        command.args(arguments).envs(self.environment.variables.iter());
        command.env("PI_PROJECT_DIR", &self.environment.cwd);
        if let Some(path) = self.environment.variable("PATH") {
            command.env("PATH", self.without_project(path));
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let child = command
            .spawn()
            .map_err(|error| format!("the command could not be started: {error}"))?;
        let id = child.id();
        let mut output = std::pin::pin!(child.wait_with_output());
        // Dropped before the child, so that no other process can have its id yet.
        let mut group = Group(id);
        let output = match timeout(self.timeout, &mut output).await {
            Ok(output) => {
                output.map_err(|error| format!("the command cannot be observed: {error}"))?
            }
            Err(_) => {
                let seconds = self.timeout.as_secs_f32();
                return Err(format!("the command took longer than {seconds} seconds"));
            }
        };
        group.0 = None;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let last_line = stderr.lines().rev().find(|line| !line.trim().is_empty());
            // The output of a failed command may be the key all the same.
            let printed = String::from_utf8_lossy(&output.stdout);
            let secrets = Secrets::new(printed.lines().map(str::to_owned));
            let reason = last_line.map(|line| format!(": {}", secrets.redact(line.trim())));
            let reason = reason.unwrap_or_default();
            return Err(format!("the command ended with {}{reason}", output.status));
        }
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if text.is_empty() { Err("the command printed nothing".to_owned()) } else { Ok(text) }
    }
}

// The outputs of commands are secret.
pi_protocol::debug_fields!(ValueResolver, timeout);

/// The process group of a running command, by the id of its first process. Kills it when dropped.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(group) =
            self.0.and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw)
        {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}
