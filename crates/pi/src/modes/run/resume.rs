//! `pi run --resume`: decisions about pending actions, and the list of runs.

use std::process::ExitCode;

use pi_coding_agent::Environment;
use pi_converge::{Decisions, Outcome, Publication, Report, ResumeError, RunOptions, list_runs};

use super::output::Output;
use super::{finish, options, refuse, task, until_signal};
use crate::arguments::Arguments;
use crate::exit::{note, print};
use crate::flags::parse::CommandArgs;

/// Resumes a run.
pub(super) fn run(
    args: &CommandArgs,
    reference: &str,
    environment: Environment,
    output: Output,
) -> ExitCode {
    let decisions = match decisions(args) {
        Ok(decisions) => decisions,
        Err(error) => return refuse(Outcome::InvalidTask, &[error], &output),
    };
    let publish = match task::publication(args) {
        Ok(publish) => publish,
        Err(error) => return refuse(Outcome::InvalidTask, &[error], &output),
    };
    let workspace = args.value("directory").map(|text| environment.cwd.join(text));
    let reference = if reference.contains('/') {
        environment.cwd.join(reference).to_string_lossy().into_owned()
    } else {
        reference.to_owned()
    };
    let mut options = options(environment, &Arguments::default());
    (options.workspace, options.publish) = (workspace, publish);
    output.show(&mut options);
    super::super::block_on(perform(reference, decisions, options, output))
}

async fn perform(
    reference: String,
    decisions: Decisions,
    options: RunOptions,
    output: Output,
) -> ExitCode {
    let interrupt = options.interrupt.clone();
    let work = async {
        let resumed = Box::pin(pi_converge::resume(&reference, &decisions, options));
        match until_signal(resumed, &interrupt).await {
            Ok(report) => finish(&report, &output),
            Err(error) => {
                let advice = match &error {
                    ResumeError::NoWorkspace(_) => Some("name the directory with --directory DIR"),
                    ResumeError::Directory(pi_converge::DirectoryError::NotFound(_)) => {
                        Some("`pi run --list` lists all runs")
                    }
                    _ => None,
                };
                let code = refuse(Outcome::InvalidTask, &[error.to_string()], &output);
                if let Some(advice) = advice {
                    crate::exit::hint(advice);
                }
                code
            }
        }
    };
    Box::pin(output.during(work, &interrupt)).await
}

/// Reads the decisions: numbers with commas, or `all`; the reason of a rejection is the word that
/// follows, or the text after `=`.
fn decisions(args: &CommandArgs) -> Result<Decisions, String> {
    let mut decisions = Decisions::default();
    for value in args.values("approve") {
        if value == "all" {
            decisions.approve_all = true;
        } else {
            decisions.approve.extend(numbers(value)?);
        }
    }
    for value in args.values("reject") {
        let (list, reason) = match value.split_once('=') {
            Some((list, reason)) => (list, Some(reason)),
            None => (value, args.word(0)),
        };
        let reason = reason.map(str::to_owned);
        decisions.reject.extend(numbers(list)?.into_iter().map(|one| (one, reason.clone())));
    }
    if decisions.reject.is_empty() && args.word(0).is_some() {
        return Err("--resume continues a run and takes no task".to_owned());
    }
    Ok(decisions)
}

fn numbers(list: &str) -> Result<Vec<u32>, String> {
    let number = |text: &str| {
        let invalid = || format!("invalid number {text:?}: expected numbers such as 1,3");
        text.trim().parse().map_err(|_| invalid())
    };
    list.split(',').map(number).collect()
}

/// Shows the pending actions of a run, and how it is resumed.
pub(super) fn hint(report: &Report) {
    if report.outcome == Outcome::NeedsApproval {
        for action in &report.pending {
            note(&format!("  {}. {}: {}", action.number, action.tool, action.what));
            for reason in &action.reasons {
                note(&format!("     {reason}"));
            }
        }
        note(&format!("approve with: pi run --resume {} --approve NUMBERS", report.id));
    } else if report.outcome.is_resumable() {
        note(&format!("resume with: pi run --resume {}", report.id));
    } else if report.publication.as_ref().is_some_and(Publication::has_failed) {
        note(&format!("publish with: pi run --resume {} --pull-request", report.id));
    }
}

/// Prints all runs, one line each.
pub(super) fn list(environment: &Environment) -> ExitCode {
    let runs = list_runs(&environment.agent_directory.join("runs"));
    if runs.is_empty() {
        note("no runs are stored; start one with `pi run`");
    }
    let lines = runs.iter().map(|run| {
        let outcome = run.outcome.as_deref().unwrap_or("unfinished");
        let task = run.task.lines().next().unwrap_or_default();
        format!("{}  {outcome:<20}  {}  {task}\n", run.id, run.cwd)
    });
    print(&lines.collect::<String>())
}
