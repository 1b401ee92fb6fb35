//! Values of configuration files that are found elsewhere when they are needed: in variables, or
//! in what a command prints (`"!pass show key"`).
//!
//! A command runs in a process group of its own, so that all of it ends when it takes too long or
//! nobody waits for it any more.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pi_guard::secrets::Secrets;
use tokio::process::Command;
use tokio::sync::OnceCell;
use tokio::time::timeout;

use super::resolve_value;
use crate::Environment;

/// How long a command may take: somebody may have to unlock a vault, but one that asks for a
/// password nobody will type must not hang the program.
const PATIENCE: Duration = Duration::from_secs(60);

type Output = Result<String, String>;

/// How often a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    /// Once in the life of the program: password managers are slow and ask questions. Failures are
    /// remembered too.
    Once,
    /// Each time the value is needed: what it prints may be good for minutes only.
    EachTime,
}

/// Resolves configured values and runs the commands among them.
pub struct Commands {
    environment: Environment,
    patience: Duration,
    /// By command line.
    known: Mutex<HashMap<String, Arc<OnceCell<Output>>>>,
}

impl Commands {
    /// Runs them where the environment says, and with its variables.
    pub fn new(environment: Environment) -> Self {
        Self { environment, patience: PATIENCE, known: Mutex::default() }
    }

    /// Waits no longer than this for a command.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// What a configured text stands for, with variables that count before those of the
    /// environment; or why it stands for nothing. Commands do not see these variables.
    pub async fn resolve(
        &self,
        text: &str,
        own: &BTreeMap<String, String>,
        runs: Runs,
    ) -> Result<String, String> {
        if let Some(line) = text.strip_prefix('!') {
            return match runs {
                Runs::Once => self.once(line).await,
                Runs::EachTime => self.run(line).await,
            };
        }
        let variable = |name: &str| self.variable(name, own);
        match resolve_value(text, &variable) {
            Ok(value) if value.is_empty() => Err("it is empty".to_owned()),
            Ok(value) => Ok(value),
            Err(name) => Err(format!("the variable {name} is not set")),
        }
    }

    /// The same without running anything: whether there may be a value.
    pub fn may_resolve(&self, text: &str, own: &BTreeMap<String, String>) -> bool {
        let variable = |name: &str| self.variable(name, own);
        text.starts_with('!') || resolve_value(text, &variable).is_ok_and(|value| !value.is_empty())
    }

    /// A variable of a credential, else of the environment.
    pub fn variable(&self, name: &str, own: &BTreeMap<String, String>) -> Option<String> {
        own.get(name).cloned().or_else(|| self.environment.variable(name).map(str::to_owned))
    }

    async fn once(&self, line: &str) -> Output {
        let cell = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(known.entry(line.to_owned()).or_default())
        };
        // Whoever asks for the same meanwhile waits for this result.
        cell.get_or_init(|| self.run(line)).await.clone()
    }

    /// What a command prints, without the white space around it; or why that is of no use.
    async fn run(&self, line: &str) -> Output {
        let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
        let mut command = Command::new(shell);
        command.arg(flag).arg(line).current_dir(&self.environment.cwd);
        command.env_clear().envs(self.environment.variables.iter());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let child = command
            .spawn()
            .map_err(|error| format!("the command could not be started: {error}"))?;
        let id = child.id();
        let mut output = std::pin::pin!(child.wait_with_output());
        // Dropped before the child: its id is not anybody else's yet.
        let mut group = Group(id);
        let output = match timeout(self.patience, &mut output).await {
            Ok(output) => output.map_err(|error| format!("the command is lost: {error}"))?,
            Err(_) => {
                let seconds = self.patience.as_secs_f32();
                return Err(format!("the command took longer than {seconds} seconds"));
            }
        };
        group.0 = None;
        if !output.status.success() {
            let complaint = String::from_utf8_lossy(&output.stderr);
            let complaint = complaint.lines().rev().find(|line| !line.trim().is_empty());
            // What it printed may be the key all the same.
            let printed = String::from_utf8_lossy(&output.stdout);
            let secrets = Secrets::new(printed.lines().map(str::to_owned));
            let complaint = complaint.map(|line| format!(": {}", secrets.redact(line.trim())));
            let complaint = complaint.unwrap_or_default();
            return Err(format!("the command ended with {}{complaint}", output.status));
        }
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if text.is_empty() { Err("the command printed nothing".to_owned()) } else { Ok(text) }
    }
}

// What commands print is secret.
impl fmt::Debug for Commands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commands").field("patience", &self.patience).finish_non_exhaustive()
    }
}

/// The processes of a command that has not ended, by the id of the first one. Ends them.
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
