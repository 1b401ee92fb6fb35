//! The message that returns failed checks to the agent. Pure.

use std::fmt::Write as _;

use super::command::tail;
use crate::contract::{Check, Contract};
use crate::report::CheckReport;

/// Bytes of output of one check.
const OUTPUT: usize = 4 * 1024;
/// Bytes of the whole message, without the last check's output.
const TOTAL: usize = 24 * 1024;
/// Failures of one check that are named.
const MOST_FAILURES: usize = 12;

/// Bytes of the goal that are repeated.
const GOAL: usize = 2 * 1024;

/// The work of the agent so far, as far as feedback depends on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    /// Rounds after the next one.
    pub(crate) rounds_left: u32,
    /// The run has changed a file.
    pub(crate) has_changes: bool,
}

/// Returns the message that returns failed checks to the agent. Small models follow its last lines
/// and forget the goal, so both are repeated there.
pub(crate) fn feedback(contract: &Contract, checks: &[CheckReport], work: Progress) -> String {
    let failed: Vec<&CheckReport> = checks.iter().filter(|check| check.failed()).collect();
    let mut text = format!(
        "The task is not complete. {} of {} checks failed after your last change.\n",
        failed.len(),
        checks.len()
    );
    for check in failed {
        if text.len() > TOTAL {
            let _ = write!(text, "\n## {}\nFailed. Its details are left out.\n", check.name);
            continue;
        }
        describe(&mut text, contract, check);
    }
    text.push_str("\n## What to do\n");
    text.push_str(
        "- Find the cause in the output above and fix it in the work, not in the checks.\n",
    );
    if checks.iter().any(|check| !check.denied.is_empty()) {
        text.push_str(
            "- You cannot change what the sandbox denies, and its options are for the user. Make \
             the work pass without it, or say in your answer what is needed.\n",
        );
    }
    let protected = protected_patterns(contract);
    if !protected.is_empty() {
        let _ = writeln!(
            text,
            "- Do not change these files: {}. Undo changes that you made to them.",
            protected.join(", ")
        );
    }
    text.push_str(
        "- Checks run with the original tests and check scripts. Edits to them have no effect.\n",
    );
    text.push_str("- Run the failed command yourself before you finish, if you can.\n");
    let _ = match work.rounds_left {
        0 => writeln!(text, "- This is the last round."),
        1 => writeln!(text, "- One more round follows this one."),
        rounds => writeln!(text, "- {rounds} more rounds follow this one."),
    };
    let _ = write!(text, "\nThe goal is still:\n{}\n", head(contract.goal.trim()));
    if !work.has_changes {
        text.push_str(
            "\nNo file is changed so far. An answer alone changes nothing: call a tool that changes \
             the files, for example write with the complete corrected content of a file.\n",
        );
    }
    text
}

/// Returns the beginning of the goal.
fn head(goal: &str) -> &str {
    goal.get(..goal.floor_char_boundary(GOAL)).unwrap_or(goal)
}

fn describe(text: &mut String, contract: &Contract, check: &CheckReport) {
    let _ = writeln!(text, "\n## {}", check.name);
    let command = contract.verify.iter().find_map(|one| match one {
        Check::Command(command) if one.name() == check.name => Some(&command.command),
        _ => None,
    });
    if let Some(command) = command.filter(|command| **command != check.name) {
        let _ = writeln!(text, "Command: {command}");
    }
    for failure in check.failures.iter().take(MOST_FAILURES) {
        let _ = writeln!(text, "- {failure}");
    }
    if check.failures.len() > MOST_FAILURES {
        let _ = writeln!(text, "- {} more", check.failures.len() - MOST_FAILURES);
    }
    let Some(output) = &check.output else { return };
    let end = tail(output, OUTPUT).trim_end();
    if end.is_empty() {
        text.push_str("The command printed nothing.\n");
        return;
    }
    let title = if end.len() < output.trim_end().len() { "End of the output:" } else { "Output:" };
    // A fence that the output does not contain.
    let mut fence = "```".to_owned();
    while end.contains(&fence) {
        fence.push('`');
    }
    let _ = write!(text, "{title}\n{fence}\n{end}\n{fence}\n");
}

fn protected_patterns(contract: &Contract) -> Vec<&str> {
    let files = contract.verify.iter().filter_map(|check| match check {
        Check::Files(check) => Some(&check.files),
        _ => None,
    });
    let patterns = files.flat_map(|rules| rules.protected.iter().chain(&rules.forbidden));
    patterns.map(String::as_str).collect()
}
