//! `pi sandbox`: runs anything confined, for people.
//!
//! The confinement is that of a session with a sandbox in this directory: what is hidden and
//! protected is the same, and hosts are judged by the same rules.

mod attached;
mod captured;
#[cfg(unix)]
mod signals;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use pi_coding_agent::guard::{Guard, GuardStatus};
use pi_coding_agent::{AgentOptions, load_guard};
use pi_guard::confine::{Confined, ConfinementLevel, without_secrets};
use pi_tools::supervisor::Supervisor;
use serde_json::{Value, json};

use super::{Done, Failure};
use crate::environment;
use crate::exit::note;
use crate::flags::parse::Given;
use crate::flags::safety;

/// What is run, and what holds it.
struct Run {
    guard: Guard,
    confined: Arc<Confined>,
    status: GuardStatus,
    program: OsString,
    arguments: Vec<OsString>,
    cwd: PathBuf,
    /// Without secrets, whatever holds.
    environment: Vec<(OsString, OsString)>,
}

pub(super) fn run(given: &Given) -> Done {
    let run = prepare(given)?;
    let work = async {
        let done = if given.has("json") {
            captured::run(&run).await
        } else {
            if !given.has("quiet") {
                note(&describe(&run.status));
            }
            attached::run(&run).await
        };
        done.unwrap_or_else(|failure| failure.report())
    };
    Ok(crate::modes::block_on(work))
}

fn prepare(given: &Given) -> Result<Run, Failure> {
    let environment = environment::read().map_err(Failure::Failed)?;
    let cwd = environment.cwd.clone();
    let mut options = AgentOptions::new(environment);
    options.settings = safety::settings(given).map_err(Failure::Usage)?;
    let guard = options.settings.entry("guard").or_insert_with(|| json!({}));
    if let Value::Object(guard) = guard {
        guard.entry("sandbox").or_insert_with(|| "workspace-write".into());
        guard.entry("network").or_insert_with(|| "off".into());
        guard.insert("require".into(), given.value("require").unwrap_or("landlock").into());
    }
    options.supervisor = cfg!(target_os = "linux").then(Supervisor::this_program);
    let guard = load_guard(&options)?;
    let none = || Failure::NotConfined("there is no confinement".to_owned());
    let confined = guard.confined().ok_or_else(none)?;
    let status = guard.status().ok_or_else(none)?;
    let mut words = given.words.iter().map(OsString::from);
    let program = words.next().unwrap_or_default();
    let all: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let environment = without_secrets(&all, &[]);
    let arguments = words.collect();
    Ok(Run { guard, confined, status, program, arguments, cwd, environment })
}

/// What holds and what does not, in a line.
fn describe(status: &GuardStatus) -> String {
    if status.level == ConfinementLevel::None {
        return format!("no sandbox: {}", status.limits.join(" "));
    }
    let mut text = status.describe_sandbox();
    if !status.limits.is_empty() {
        text.push_str(". ");
        text.push_str(&status.limits.join(" "));
    }
    text
}

/// The code that a shell would give for a program that cannot be started.
fn not_started(error: &std::io::Error) -> u8 {
    if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 }
}

/// The code of a command as one of this program.
fn code(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code & 0xFF).unwrap_or(u8::MAX))
}
