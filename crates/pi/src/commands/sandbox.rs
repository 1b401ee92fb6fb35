//! `pi sandbox`: runs a command in the sandbox of the agent.
//!
//! The sandbox is that of a session in this directory: the same paths are hidden and protected, and
//! the same rules apply to hosts.

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
use pi_guard::policy::Part;
use pi_tools::supervisor::Supervisor;
use serde_json::{Value, json};

use super::{CommandResult, Failure, project};
use crate::exit::{Exit, note};
use crate::flags::parse::CommandArgs;
use crate::flags::safety;

/// A command and its sandbox.
struct Run {
    guard: Guard,
    confined: Arc<Confined>,
    status: GuardStatus,
    program: OsString,
    arguments: Vec<OsString>,
    cwd: PathBuf,
    /// Environment variables without secrets.
    environment: Vec<(OsString, OsString)>,
}

pub(super) fn run(args: &CommandArgs) -> CommandResult {
    let run = prepare(args)?;
    let work = async {
        let done = if args.has("json") {
            captured::run(&run).await
        } else {
            if !args.has("quiet") {
                note(&describe(&run.status));
            }
            attached::run(&run).await
        };
        done.unwrap_or_else(|failure| failure.report())
    };
    Ok(crate::modes::block_on(work))
}

fn prepare(args: &CommandArgs) -> Result<Run, Failure> {
    let mut project = project::open(args)?;
    let cwd = project.environment().cwd.clone();
    let mut settings = safety::settings(args).map_err(Failure::usage)?;
    let guard = settings.entry("guard").or_insert_with(|| json!({}));
    if let Value::Object(guard) = guard {
        guard.entry("sandbox").or_insert_with(|| "workspace-write".into());
        guard.entry("network").or_insert_with(|| "off".into());
        guard.insert("require".into(), args.value("require").unwrap_or("landlock").into());
    }
    project.set_overrides(settings);
    let mut options = AgentOptions::in_project(project);
    options.tools.supervisor = cfg!(target_os = "linux").then(Supervisor::this_program);
    let guard = load_guard(&options)?;
    let none = || Failure::new("no sandbox is configured", Exit::SandboxUnavailable);
    let confined = guard.watched().ok_or_else(none)?;
    let status = guard.status().ok_or_else(none)?;
    let mut words = args.words.iter().map(OsString::from);
    let program = words.next().unwrap_or_default();
    let all: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let environment = without_secrets(&all, &[]);
    let arguments = words.collect();
    Ok(Run { guard, confined, status, program, arguments, cwd, environment })
}

/// Describes the restrictions and their limits in one line.
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

/// Describes a program that a rule refused.
fn refusal(part: &Part) -> String {
    let rule = part.rule.as_deref().map(|rule| format!(" [{rule}]")).unwrap_or_default();
    format!("not run: {}: {}{rule}", part.what, part.reason)
}

/// Returns the exit code of a shell for a program that cannot be started.
fn not_started(error: &std::io::Error) -> u8 {
    if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 }
}

/// Returns the failure of a command after which something dangerous is left.
fn dangerous() -> Failure {
    let message = "the command left files that could not be disabled (see above)";
    Failure::new(message, Exit::SandboxUnavailable)
        .hint("remove them before you run git in this directory")
}

/// Converts the exit code of the command.
fn code(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code & 0xFF).unwrap_or(u8::MAX))
}
