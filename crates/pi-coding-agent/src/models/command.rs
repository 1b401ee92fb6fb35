//! Commands whose output is a key or a header.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::Environment;

/// How long a command may take; somebody may have to unlock a vault.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs commands and remembers what those of stored credentials gave.
#[derive(Debug, Default)]
pub(super) struct Commands {
    /// By command line; failures too, so that nobody is asked twice in one run of the program.
    known: Mutex<BTreeMap<String, Result<String, String>>>,
}

impl Commands {
    /// The output of a command, which runs at most once.
    pub(super) async fn once(
        &self,
        line: &str,
        environment: &Environment,
    ) -> Result<String, String> {
        // Held while it runs: a second request waits for the first one's answer.
        let mut known = self.known.lock().await;
        if let Some(output) = known.get(line) {
            return output.clone();
        }
        let output = run(line, environment).await;
        known.insert(line.to_owned(), output.clone());
        output
    }
}

/// The output of a command without blanks around it, or what went wrong.
pub(super) async fn run(line: &str, environment: &Environment) -> Result<String, String> {
    let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let mut command = Command::new(shell);
    command.arg(flag).arg(line).current_dir(&environment.cwd);
    command.env_clear().envs(environment.variables.iter());
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = match timeout(PATIENCE, command.output()).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(format!("it could not be started: {error}")),
        Err(_) => return Err(format!("it took longer than {} seconds", PATIENCE.as_secs())),
    };
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        let complaint = complaint.lines().rev().find(|line| !line.trim().is_empty());
        let complaint = complaint.map(|line| format!(": {}", line.trim())).unwrap_or_default();
        return Err(format!("it ended with {}{complaint}", output.status));
    }
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if text.is_empty() { Err("it printed nothing".to_owned()) } else { Ok(text) }
}
