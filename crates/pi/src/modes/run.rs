//! `pi run`: executes a contract, shows its progress, and exits with the code of its outcome.

mod checks;
mod explain;
mod reports;
mod resume;
mod task;

use std::process::ExitCode;
use std::sync::Arc;

use pi_coding_agent::Environment;
use pi_coding_agent::extension::RunMode;
use pi_converge::{Contract, Interrupt, Outcome, Progress, Report, RunOptions};

use super::progress::StderrUi;
use super::setup;
use super::signals::signal;
use crate::arguments::Arguments;
use crate::exit::{Exit, fail, note, print};
use crate::extensions;
use crate::flags::parse::CommandArgs;

/// Executes a contract.
pub(crate) fn run(args: &CommandArgs) -> ExitCode {
    let prints_report = args.value("output-format") == Some("json");
    let environment = match crate::environment::read() {
        Ok(environment) => environment,
        Err(error) => return refuse(Outcome::Configuration, &[error], prints_report),
    };
    if args.has("list") {
        return resume::list(&environment);
    }
    if let Some(reference) = args.value("resume") {
        return resume::run(args, reference, environment);
    }
    let task = match task::load(args, &environment.cwd) {
        Ok(task) => task,
        Err(errors) => {
            return refuse(Outcome::InvalidTask, &errors, prints_report);
        }
    };
    let as_json = prints_report || args.value("format") == Some("json");
    if args.has("explain") {
        let options = options(environment);
        return super::block_on(explain::explain(&task, &options, as_json));
    }
    if args.has("dry-run") {
        let options = options(environment);
        let examining = explain::dry_run(&task, &options, as_json);
        return super::block_on(until_signal(examining, &options.interrupt));
    }
    task.notes.iter().for_each(|text| note(&format!("warning: {text}")));
    super::block_on(perform(task.contract, environment, prints_report))
}

async fn perform(contract: Contract, environment: Environment, prints_report: bool) -> ExitCode {
    let options = options(environment);
    let interrupt = options.interrupt.clone();
    match until_signal(Box::pin(pi_converge::run(contract, options)), &interrupt).await {
        Ok(report) => finish(&report, prints_report),
        Err(error) => refuse(Outcome::Failed, &[error.to_string()], prints_report),
    }
}

/// Returns the options of a run.
fn options(environment: Environment) -> RunOptions {
    let mut agent = setup::options(&Arguments::default(), environment);
    agent.ui = Arc::new(StderrUi);
    agent.mode = RunMode::Print;
    // Extensions of a run have the rights of the user's settings; contracts restrict the agent.
    agent.extensions.open = extensions::opener_with(agent.clone());
    let mut options = RunOptions::new(agent);
    options.version = env!("CARGO_PKG_VERSION").to_owned();
    options.on_progress = Arc::new(show);
    options
}

/// Waits for a run, and ends it early after a signal.
async fn until_signal<T>(running: impl Future<Output = T>, interrupt: &Interrupt) -> T {
    tokio::pin!(running);
    tokio::select! {
        ended = &mut running => ended,
        exit = signal() => {
            interrupt.interrupt(interrupted(exit));
            running.await
        }
    }
}

fn interrupted(exit: Exit) -> Outcome {
    match exit {
        Exit::Aborted => Outcome::Interrupted,
        _ => Outcome::Terminated,
    }
}

fn show(progress: &Progress) {
    match progress {
        Progress::Attempt { number, count } if *count > 1 => {
            note(&format!("attempt {number} of {count}"));
        }
        Progress::Round { number } => note(&format!("round {number}")),
        Progress::Before(check) if check.passed => {
            note(&format!("passed already before the run: {}", check.name));
        }
        Progress::Before(check) => {
            note(&format!("fails before the run: {}", check.name));
            check.denied.iter().for_each(|denied| note(&format!("warning: {denied}")));
        }
        Progress::Checked(check) if check.passed => note(&format!("passed: {}", check.name)),
        Progress::Checked(check) => {
            note(&format!("failed: {}: {}", check.name, check.failures.join("; ")));
        }
        _ => {}
    }
}

/// Reports a run that cannot start.
fn refuse(outcome: Outcome, reasons: &[String], prints_report: bool) -> ExitCode {
    reasons.iter().for_each(|reason| note(reason));
    if prints_report {
        let reason = crate::secrets::redacted(&reasons.join("\n")).into_owned();
        // The exit code already is that of a failure.
        let _ = print_report(&Report::not_started(outcome, reason));
    }
    ExitCode::from(outcome.exit_code())
}

/// Prints the report as one line.
fn print_report(report: &Report) -> ExitCode {
    match serde_json::to_string(report) {
        Ok(text) => print(&format!("{text}\n")),
        Err(error) => fail(&format!("cannot write the report: {error}"), Exit::Failed),
    }
}

fn finish(report: &Report, prints_report: bool) -> ExitCode {
    // A result that is invalid or was not verified stays off stdout: a reader could rely on it.
    let output = match (&report.result, report.outcome) {
        (Some(result), Outcome::Converged) => serde_json::to_string_pretty(result).ok(),
        (Some(_), _) | (None, Outcome::InvalidOutput) => None,
        (None, _) => report.text.clone(),
    };
    let printed = match prints_report {
        true => Some(print_report(report)),
        false => output.map(|text| print(&format!("{text}\n"))),
    };
    report.to_text().lines().for_each(note);
    if let Ok(environment) = crate::environment::read() {
        reports::write(report, &environment);
    }
    resume::hint(report);
    match printed {
        Some(failed) if failed != ExitCode::SUCCESS && report.exit_code == 0 => failed,
        _ => ExitCode::from(report.exit_code),
    }
}
