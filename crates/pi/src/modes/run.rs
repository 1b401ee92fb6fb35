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
use crate::flags::parse::CommandArgs;

/// Executes a contract.
pub(crate) fn run(args: &CommandArgs) -> ExitCode {
    let environment = match crate::environment::read() {
        Ok(environment) => environment,
        Err(error) => return fail(&error, Exit::Configuration),
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
            errors.iter().for_each(|error| note(error));
            return ExitCode::from(Outcome::InvalidTask.exit_code());
        }
    };
    let as_json = args.value("format") == Some("json");
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
    super::block_on(perform(task.contract, environment))
}

async fn perform(contract: Contract, environment: Environment) -> ExitCode {
    let options = options(environment);
    let interrupt = options.interrupt.clone();
    match until_signal(Box::pin(pi_converge::run(contract, options)), &interrupt).await {
        Ok(report) => finish(&report),
        Err(error) => fail(&error.to_string(), Exit::Failed),
    }
}

/// Returns the options of a run.
fn options(environment: Environment) -> RunOptions {
    let mut agent = setup::options(&Arguments::default(), environment);
    agent.ui = Arc::new(StderrUi);
    agent.mode = RunMode::Print;
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
        Exit::Interrupted => Outcome::Interrupted,
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
        Progress::Before(check) => note(&format!("fails before the run: {}", check.name)),
        Progress::Checked(check) if check.passed => note(&format!("passed: {}", check.name)),
        Progress::Checked(check) => {
            note(&format!("failed: {}: {}", check.name, check.failures.join("; ")));
        }
        _ => {}
    }
}

fn finish(report: &Report) -> ExitCode {
    // A result that is invalid or was not verified stays off stdout: a reader could rely on it.
    let output = match (&report.result, report.outcome) {
        (Some(result), Outcome::Converged) => serde_json::to_string_pretty(result).ok(),
        (Some(_), _) | (None, Outcome::InvalidOutput) => None,
        (None, _) => report.text.clone(),
    };
    let printed = output.map(|text| print(&format!("{text}\n")));
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
