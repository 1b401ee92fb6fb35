//! `pi policy`: what the rules say, asked without running anything.
//!
//! What is answered is what a session would decide, by the same way: settings, trust, rule files
//! and profile are those that a session in the same directory would have.

mod check;
mod replay;
mod test;

use std::sync::Arc;

use pi_agent::BoxFuture;
use pi_coding_agent::guard::{ApprovalDecision, ApprovalRequest, Approver, Judgment, Outcome};
use pi_coding_agent::{AgentOptions, Environment};

use super::{Done, Failure, export, plain, sessions};
use crate::flags::parse::Given;
use crate::flags::safety;

pub(super) use check::check;
pub(super) use replay::replay;
pub(super) use test::test;

/// How much of a command is shown.
const SHOWN: usize = 120;

/// Somebody who could be asked, so that what would be asked is told apart from what is refused.
struct Present;

impl Approver for Present {
    fn decide<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        Box::pin(async { ApprovalDecision::Deny { reason: None } })
    }
}

/// A session in this place with somebody present.
fn options(given: &Given, environment: &Environment) -> Result<AgentOptions, Failure> {
    let mut options = AgentOptions::new(environment.clone());
    options.settings = safety::settings(given).map_err(Failure::Usage)?;
    options.approve = match (given.has("approve"), given.has("no-approve")) {
        (true, true) => {
            return Err(Failure::Usage("give one of --approve and --no-approve".to_owned()));
        }
        (true, false) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    };
    options.approver = Some(Arc::new(Present));
    Ok(options)
}

/// What happens, in a word.
fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Run => "allow",
        Outcome::RunConfined => "allow (only confined)",
        Outcome::Ask => "ask",
        Outcome::Refuse => "forbid",
    }
}

/// What decided, in a line: what it is about, why, and which rule.
fn reason(judgement: &Judgment) -> String {
    let verdict = &judgement.verdict;
    let decisive = match judgement.outcome {
        Outcome::RunConfined => verdict.parts.iter().find(|part| part.confined),
        Outcome::Run | Outcome::Ask | Outcome::Refuse => verdict.decisive(),
    };
    let mut text = decisive.map_or_else(
        || "nothing in it would run".to_owned(),
        |part| {
            let rule = part.rule.as_ref().map(|rule| format!(" [{rule}]")).unwrap_or_default();
            format!("{}: {}{rule}", plain::line(&part.what, SHOWN), part.reason)
        },
    );
    if let Some(note) = &judgement.note {
        text.push_str("; ");
        text.push_str(note);
    }
    plain::line(&text, usize::MAX)
}
