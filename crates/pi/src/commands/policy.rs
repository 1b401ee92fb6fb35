//! `pi policy`: shows the decisions of the policy without running anything.
//!
//! The decisions are those of a session in the same directory: the same code loads the settings,
//! the trust, the rule files and the profile.

mod check;
mod replay;
mod test;

use std::sync::Arc;

use pi_agent::BoxFuture;
use pi_base::text;
use pi_coding_agent::guard::{ApprovalDecision, ApprovalRequest, Approver, Judgment, Outcome};
use pi_coding_agent::{AgentOptions, Project};

use super::{CommandResult, Failure, plain, project, sessions};
use crate::flags::parse::CommandArgs;
use crate::flags::safety;

pub(super) use check::check;
pub(super) use replay::replay;
pub(super) use test::test;

/// Maximum length of a command in the output.
const SHOWN: usize = 120;

/// An approver that is never asked. Its presence makes the guard return `ask` instead of `refuse`.
struct StubApprover;

impl Approver for StubApprover {
    fn decide<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        Box::pin(async { ApprovalDecision::Deny { reason: None } })
    }
}

/// Returns the options of a session in this directory that can ask for approval.
fn options(args: &CommandArgs, mut project: Project) -> Result<AgentOptions, Failure> {
    project.set_overrides(safety::settings(args).map_err(Failure::usage)?);
    let mut options = AgentOptions::in_project(project);
    options.guard.approver = Some(Arc::new(StubApprover));
    Ok(options)
}

/// Returns the name of an outcome.
fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Run => "allow",
        Outcome::RunConfined => "allow (in the sandbox)",
        Outcome::Ask => "ask",
        Outcome::Refuse => "forbid",
    }
}

/// Describes the decisive part of a judgement in one line: its subject, the reason and the rule.
fn reason(judgement: &Judgment) -> String {
    let verdict = &judgement.verdict;
    let decisive = match judgement.outcome {
        // The part that requires the sandbox, if it is not the session that does.
        Outcome::RunConfined => {
            verdict.parts.iter().find(|part| part.confined).or_else(|| verdict.decisive())
        }
        Outcome::Run | Outcome::Ask | Outcome::Refuse => verdict.decisive(),
    };
    let mut text = decisive.map_or_else(
        || "nothing to run".to_owned(),
        |part| {
            let rule = part.rule.as_ref().map(|rule| format!(" [{rule}]")).unwrap_or_default();
            format!("{}: {}{rule}", text::line(&part.what, SHOWN), part.reason)
        },
    );
    if let Some(note) = &judgement.note {
        text.push_str("; ");
        text.push_str(note);
    }
    text::one_line(&text)
}
