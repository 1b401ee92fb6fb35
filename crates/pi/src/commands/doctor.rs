//! `pi doctor`: checks the installation and the configuration, and suggests fixes.
//!
//! Each check is a function from the project to findings. No check changes anything, and none
//! prints a secret.

mod choices;
mod files;
mod machine;
mod secrets;

use std::io::{BufWriter, Write as _};

use pi_base::text;
use pi_coding_agent::{Diagnostic, Project, Severity};
use serde_json::{Value, json};

use super::{CommandResult, project};
use crate::exit::Exit;
use crate::flags::parse::CommandArgs;

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Good,
    /// Works, but with a limitation.
    Warning,
    /// Does not work at all.
    Error,
}

/// A result of a check.
struct Finding {
    about: &'static str,
    state: State,
    message: String,
    /// Instruction for the user; empty if there is nothing to do.
    fix: String,
}

impl Finding {
    fn good(about: &'static str, message: impl Into<String>) -> Self {
        Self { about, state: State::Good, message: message.into(), fix: String::new() }
    }

    fn warning(about: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { about, state: State::Warning, message: message.into(), fix: fix.into() }
    }

    fn error(about: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { state: State::Error, ..Self::warning(about, message, fix) }
    }

    /// Converts a diagnostic of a library.
    fn from(about: &'static str, diagnostic: &Diagnostic, fix: &str) -> Self {
        let state = match diagnostic.severity {
            Severity::Warning => State::Warning,
            Severity::Error => State::Error,
        };
        Self { state, ..Self::warning(about, diagnostic.to_string(), fix) }
    }
}

const CHECKS: &[fn(&Project) -> Vec<Finding>] = &[
    machine::program,
    files::agent_directory,
    choices::settings,
    choices::trust,
    choices::models,
    choices::resources,
    choices::mcp_servers,
    choices::rules,
    choices::hooks,
    secrets::file,
    secrets::keys,
    secrets::local_servers,
    choices::model,
    files::sessions,
    files::crashes,
    machine::shell,
    machine::git,
    machine::sandbox,
    machine::terminal,
];

pub(super) fn run(args: &CommandArgs) -> CommandResult {
    let project = project::open_silently()?;
    let findings: Vec<Finding> = CHECKS.iter().flat_map(|check| check(&project)).collect();
    let mut out = BufWriter::new(std::io::stdout().lock());
    if args.has("json") {
        let list: Vec<Value> = findings.iter().map(to_json).collect();
        serde_json::to_writer_pretty(&mut out, &list)?;
        writeln!(out)?;
    } else {
        for finding in &findings {
            let message = text::one_line(&finding.message);
            writeln!(out, "{:7}  {}: {message}", name(finding.state), finding.about)?;
            if !finding.fix.is_empty() {
                writeln!(out, "         {}", text::one_line(&finding.fix))?;
            }
        }
    }
    out.flush()?;
    let worst = findings.iter().map(|finding| finding.state).max();
    Ok(if worst == Some(State::Error) { Exit::Failed } else { Exit::Completed }.into())
}

fn name(state: State) -> &'static str {
    match state {
        State::Good => "ok",
        State::Warning => "warning",
        State::Error => "error",
    }
}

fn to_json(finding: &Finding) -> Value {
    json!({
        "about": finding.about,
        "state": name(finding.state),
        "message": finding.message,
        "fix": Some(&finding.fix).filter(|fix| !fix.is_empty()),
    })
}
