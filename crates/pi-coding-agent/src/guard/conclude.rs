//! The outcome of a verdict: with or without the sandbox, after an approval, or not at all.
//!
//! The verdict says what is asked about; it is never the reason why an action runs without the
//! sandbox. In `careful`, only an action that was approved as a whole does.

use pi_config::settings::{ApprovalPolicy, Profile};
use pi_guard::Decision;
use pi_guard::policy::{Part, Verdict};

use super::{Guard, Judgment, Outcome};

/// The kind of an action, which decides how the sandbox applies to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// A command, which the operating system can confine.
    Command,
    /// An access of a built-in tool to files, which has the limits of commands.
    File,
    /// An action to which the sandbox does not apply: an external tool, a connection.
    Outside,
}

impl Guard {
    /// Returns the outcome of a verdict.
    pub(super) fn conclude(&self, mut verdict: Verdict, action: Action) -> Judgment {
        let unapproved = self.plan.profile == Profile::Careful
            && action == Action::Command
            && !self.is_approved_as_a_whole(&verdict);
        if unapproved && let Some(problem) = self.missing_sandbox() {
            let reason = |known: &str| format!("{known}, but nothing enforces that: {problem}");
            verdict = asking(verdict, reason);
        }
        let (outcome, note) = match verdict.decision {
            Decision::Forbid => (Outcome::Refuse, None),
            Decision::Ask if !self.is_approved(&verdict) => self.outcome_of_asking(),
            _ if verdict.confined => self.outcome_of_unknown_effects(action),
            Decision::Ask | Decision::Allow => (self.outcome_of_running(action, unapproved), None),
        };
        verdict.confined = match outcome {
            Outcome::RunConfined => true,
            Outcome::Ask => self.outcome_of_running(action, false) == Outcome::RunConfined,
            Outcome::Run | Outcome::Refuse => false,
        };
        Judgment { outcome, verdict, note, outside_sandbox: Vec::new() }
    }

    /// Returns true if every part that needs approval was approved before.
    pub(super) fn is_approved(&self, verdict: &Verdict) -> bool {
        let mut asked = verdict.parts.iter().filter(|part| part.decision == Decision::Ask);
        asked.all(|part| self.approvals.covers(&part.scope))
    }

    /// Returns true if a rule or an approval covers every part, except for builtins without any
    /// effect. A part that is known to only read was not approved.
    fn is_approved_as_a_whole(&self, verdict: &Verdict) -> bool {
        let is_approved = |part: &Part| match part.decision {
            Decision::Allow => part.rule.is_some() && !part.confined,
            Decision::Ask => self.approvals.covers(&part.scope),
            Decision::Forbid => false,
        };
        let mut parts = verdict.parts.iter().filter(|part| !part.inert).peekable();
        parts.peek().is_some() && parts.all(is_approved)
    }

    /// Returns the reason why commands of this session cannot run in the sandbox.
    pub(super) fn missing_sandbox(&self) -> Option<String> {
        if self.plan.is_local && !self.plan.is_sandboxed() {
            return Some("the sandbox is off".to_owned());
        }
        self.sandbox.problem()
    }

    /// Returns the outcome of an action that may run.
    fn outcome_of_running(&self, action: Action, unapproved: bool) -> Outcome {
        let confined = match action {
            Action::Command if self.plan.approval_lifts_sandbox && !unapproved => false,
            Action::Command | Action::File => self.sandbox.is_effective(),
            Action::Outside => false,
        };
        if confined { Outcome::RunConfined } else { Outcome::Run }
    }

    fn outcome_of_asking(&self) -> (Outcome, Option<String>) {
        let note = match (self.plan.approval, &self.approver) {
            (ApprovalPolicy::Never, _) => {
                "this needs approval, and the approval policy is `never`; allow it with a rule"
            }
            (_, None) => {
                "this needs approval, and no one can approve it in this mode; allow it with a rule"
            }
            (_, Some(_)) => return (Outcome::Ask, None),
        };
        (Outcome::Refuse, Some(note.to_owned()))
    }

    /// A call whose effects are not fully known runs in the sandbox, or where there is no
    /// restriction that it could circumvent.
    fn outcome_of_unknown_effects(&self, action: Action) -> (Outcome, Option<String>) {
        if !self.plan.is_sandboxed() && !self.policy().restricts() {
            let note = "its effects are not fully known, but no rule restricts anything";
            return (Outcome::Run, Some(note.to_owned()));
        }
        let Some(problem) = self.sandbox.problem() else {
            let confined = action != Action::Outside;
            return (if confined { Outcome::RunConfined } else { Outcome::Run }, None);
        };
        let note = format!(
            "its effects are not fully known, so it may run only in the sandbox, which is not \
             available: {problem}"
        );
        (Outcome::Refuse, Some(note))
    }
}

/// Returns the verdict with a question about every part that is allowed without a rule.
fn asking(verdict: Verdict, reason: impl Fn(&str) -> String) -> Verdict {
    let mut parts = verdict.parts;
    for part in &mut parts {
        if part.decision == Decision::Allow && part.rule.is_none() {
            part.decision = Decision::Ask;
            part.confined = false;
            part.reason = reason(&part.reason);
        }
    }
    Verdict::from_parts(parts)
}
