//! Values that a command prints: `"!pass show key"`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use super::resolve_value;
use crate::Environment;

/// A command that asks for a password nobody will type must not hang the program.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Runs commands of configuration files, each once: password managers are slow and ask questions.
/// Failures are remembered too.
pub struct Commands {
    environment: Environment,
    timeout: Duration,
    results: Mutex<HashMap<String, Result<String, String>>>,
}

impl Commands {
    /// Runs them where the environment says, and with its variables.
    pub fn new(environment: Environment) -> Self {
        Self { environment, timeout: TIMEOUT, results: Mutex::default() }
    }

    /// Waits no longer than this for a command.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// What a command prints, without the white space around it; or why that is of no use. Blocks.
    pub fn output(&self, line: &str) -> Result<String, String> {
        // Held while it runs: whoever asks for the same meanwhile gets this result.
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        match results.entry(line.to_owned()) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(new) => new.insert(self.run(line)).clone(),
        }
    }

    /// What a configured text stands for (see [`resolve_value`]), with variables that count before
    /// those of the environment; or why it stands for nothing.
    pub fn resolve(
        &self,
        text: &str,
        own: &dyn Fn(&str) -> Option<String>,
    ) -> Result<String, String> {
        let missing = Mutex::new(None);
        let note = |problem: String| {
            missing.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(problem);
        };
        let variable = |name: &str| {
            let value = own(name).or_else(|| self.environment.variable(name).map(str::to_owned));
            if value.as_ref().is_none_or(String::is_empty) {
                note(format!("the variable {name} is not set"));
            }
            value
        };
        let command = |line: &str| self.output(line).map_err(note).ok();
        resolve_value(text, &variable, &command).ok_or_else(|| {
            let problem = missing.lock().unwrap_or_else(PoisonError::into_inner).take();
            problem.unwrap_or_else(|| "it is empty".to_owned())
        })
    }

    fn run(&self, line: &str) -> Result<String, String> {
        let mut command = Command::new("sh");
        command
            .args(["-c", line])
            .current_dir(&self.environment.cwd)
            .env_clear()
            .envs(self.environment.variables.iter())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        // A group of its own, so that all of it can be ended.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child =
            command.spawn().map_err(|error| format!("the command cannot be run: {error}"))?;
        let Some(output) = read_within(&mut child, self.timeout) else {
            end(&mut child);
            let seconds = self.timeout.as_secs_f32();
            return Err(format!("the command did not end within {seconds} seconds"));
        };
        let status = child.wait().map_err(|error| format!("the command is lost: {error}"))?;
        let text = String::from_utf8_lossy(&output).trim().to_owned();
        match (status.success(), text.is_empty()) {
            (false, _) => Err(format!("the command failed ({status})")),
            (true, true) => Err("the command printed nothing".to_owned()),
            (true, false) => Ok(text),
        }
    }
}

// What commands print is secret.
impl fmt::Debug for Commands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commands").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

fn read_within(child: &mut Child, timeout: Duration) -> Option<Vec<u8>> {
    let mut stdout = child.stdout.take()?;
    let (done, output) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stdout.read_to_end(&mut bytes);
        // Nobody listens after the time is over.
        let _ = done.send(bytes);
    });
    output.recv_timeout(timeout).ok()
}

fn end(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}
