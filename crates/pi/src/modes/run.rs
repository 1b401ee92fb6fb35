//! `pi run`: executes a contract, shows its progress, and exits with the code of its outcome.

mod agent;
mod checks;
mod explain;
mod output;
mod reports;
mod resume;
mod task;

use std::process::ExitCode;
use std::sync::Arc;

use pi_coding_agent::Environment;
use pi_coding_agent::extension::RunMode;
use pi_converge::{Contract, Interrupt, Outcome, Report, ReportPlan, RunOptions};

use self::output::Output;
use super::progress::StderrUi;
use super::setup;
use super::signals::signal;
use crate::arguments::Arguments;
use crate::exit::{Exit, note};
use crate::extensions;
use crate::flags::parse::CommandArgs;

/// Executes a contract.
pub(crate) fn run(args: &CommandArgs) -> ExitCode {
    let output = Output::of(args);
    let environment = match crate::environment::read() {
        Ok(environment) => environment,
        Err(error) => return refuse(Outcome::Configuration, &[error], &output),
    };
    if args.has("list") {
        return resume::list(&environment);
    }
    if let Some(reference) = args.value("resume") {
        return resume::run(args, reference, environment, output);
    }
    let is_run = !args.has("explain") && !args.has("dry-run");
    let loaded = task::load(args, &environment.cwd, is_run);
    let (task, arguments) = match (loaded, agent::arguments(args, &environment)) {
        (Ok(task), Ok(arguments)) => (task, arguments),
        (Ok(task), Err(error)) => {
            let plan = task.contract.reports;
            return refuse_task(&[error], plan, &environment, &output);
        }
        (Err(invalid), arguments) => {
            let mut errors = invalid.errors;
            errors.extend(arguments.err());
            let plan = if is_run { *invalid.reports } else { ReportPlan::default() };
            return refuse_task(&errors, plan, &environment, &output);
        }
    };
    let as_json = output.is_json() || args.value("format") == Some("json");
    if args.has("explain") {
        let options = options(environment, &arguments);
        return super::block_on(explain::explain(&task, &options, as_json));
    }
    if args.has("dry-run") {
        let options = options(environment, &arguments);
        let examining = explain::dry_run(&task, &options, as_json);
        return super::block_on(until_signal(examining, &options.interrupt));
    }
    task.notes.iter().for_each(|text| note(&format!("warning: {text}")));
    let mut options = options(environment, &arguments);
    let cwd = &options.agent.environment().cwd;
    let named = args.word(0).into_iter().chain(task.contract.agent.as_deref());
    let named = named.map(|name| cwd.join(name)).collect();
    // A goal or the name of an installed agent is no file.
    options.agent.guard.trusted_files = named;
    output.show(&mut options);
    super::block_on(perform(task.contract, options, output))
}

async fn perform(contract: Contract, options: RunOptions, output: Output) -> ExitCode {
    let interrupt = options.interrupt.clone();
    let work = async {
        match until_signal(Box::pin(pi_converge::run(contract, options)), &interrupt).await {
            Ok(report) => finish(&report, &output),
            Err(error) => refuse(Outcome::Failed, &[error.to_string()], &output),
        }
    };
    Box::pin(output.during(work, &interrupt)).await
}

/// Returns the options of a run.
fn options(environment: Environment, arguments: &Arguments) -> RunOptions {
    let mut agent = setup::options(arguments, environment);
    agent.ui = Arc::new(StderrUi);
    agent.mode = RunMode::Print;
    agent.tools.selection.background = true;
    // Extensions of a run have the rights of the user's settings; contracts restrict the agent.
    agent.extensions.open = extensions::opener_with(agent.clone());
    let mut options = RunOptions::new(agent);
    options.version = env!("CARGO_PKG_VERSION").to_owned();
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

/// Reports a run that cannot start.
fn refuse(outcome: Outcome, reasons: &[String], output: &Output) -> ExitCode {
    output.refuse(&refused(outcome, reasons));
    ExitCode::from(outcome.exit_code())
}

/// Reports an invalid task, also in the files that it names: a CI job that uploads them has the
/// reason.
fn refuse_task(
    reasons: &[String],
    plan: ReportPlan,
    environment: &Environment,
    output: &Output,
) -> ExitCode {
    let mut report = refused(Outcome::InvalidTask, reasons);
    report.plan = plan;
    output.refuse(&report);
    reports::write(&report, environment);
    ExitCode::from(report.exit_code)
}

fn refused(outcome: Outcome, reasons: &[String]) -> Report {
    reasons.iter().for_each(|reason| note(reason));
    Report::not_started(outcome, crate::secrets::redacted(&reasons.join("\n")))
}

fn finish(report: &Report, output: &Output) -> ExitCode {
    let printed = output.write_report(report);
    report.to_text().lines().for_each(note);
    if let Ok(environment) = crate::environment::read() {
        reports::write(report, &environment);
    }
    resume::hint(report);
    match report.exit_code {
        0 => printed,
        code => ExitCode::from(code),
    }
}
