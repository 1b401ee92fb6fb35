//! The combined answer of the checks of one position.

use pi_config::hooks::HookEvent;
use serde_json::{Value, json};

use super::check::Subject;
use crate::session::InterventionAction;
use pi_config::hooks::{HookDecision, HookVerdict};

/// The combined answer of the checks of one position.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct CheckResult {
    /// The check that blocked, with its reason. A failure that counts as a refusal is one.
    pub block: Option<CheckReport>,
    /// The first check that requires approval, with its reason.
    pub ask: Option<CheckReport>,
    /// The check that ends the run, with its reason.
    pub stop: Option<CheckReport>,
    /// Replacement for the arguments of a tool call or the text of a prompt, with the last check
    /// that changed it.
    pub updated_input: Option<(CheckReport, Value)>,
    /// Replacement for the result of a tool call, with the last check that changed it.
    pub updated_output: Option<(CheckReport, String)>,
    /// Texts that the model gets in addition.
    pub context: Vec<String>,
    /// Messages for the user.
    pub messages: Vec<String>,
    /// Checks that failed.
    pub failures: Vec<CheckFailure>,
    /// Names of the checks that ran.
    pub ran: Vec<String>,
    /// Everything that is recorded and emitted, in order.
    pub(super) interventions: Vec<(InterventionAction, CheckReport)>,
}

/// A hook or guardrail and its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckReport {
    /// Name of the hook or guardrail.
    pub hook: String,
    /// Reason of the decision.
    pub reason: String,
}

/// A hook or guardrail that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckFailure {
    /// Name of the hook or guardrail.
    pub hook: String,
    /// Description of the failure.
    pub error: String,
}

/// The answer of one check.
#[derive(Debug, Default)]
pub(super) struct Answered {
    pub(super) decision: HookDecision,
    /// The finding is recorded and nothing else.
    pub(super) notes: bool,
    /// The check could not be evaluated.
    pub(super) failure: Option<String>,
}

impl CheckResult {
    /// Returns the check that does not let the subject pass.
    pub(super) fn refusal(&self) -> Option<&CheckReport> {
        self.stop.as_ref().or(self.block.as_ref())
    }

    /// Redacts the texts that models and logs receive.
    pub(super) fn redact(&mut self, redact: &dyn Fn(&str) -> String) {
        let reports = [&mut self.block, &mut self.ask, &mut self.stop].into_iter().flatten();
        for report in reports.chain(self.interventions.iter_mut().map(|(_, report)| report)) {
            report.reason = redact(&report.reason);
        }
        if let Some((_, text)) = &mut self.updated_output {
            *text = redact(text);
        }
        for text in &mut self.context {
            *text = redact(text);
        }
    }

    /// Adds the answer of one check. The checks that follow see what it rewrote.
    pub(super) fn add(
        &mut self,
        check: &str,
        answered: Answered,
        event: HookEvent,
        subject: &mut Subject<'_>,
    ) {
        let Answered { decision, notes, failure } = answered;
        let failure = failure.map(|error| CheckFailure { hook: check.to_owned(), error });
        self.failures.extend(failure);
        let HookDecision { verdict, reason, .. } = decision;
        let report = |default: &str| CheckReport {
            hook: check.to_owned(),
            reason: reason.clone().unwrap_or_else(|| default.to_owned()),
        };
        if verdict == Some(HookVerdict::Block) {
            self.block = Some(report("the hook gave no reason"));
        }
        if let Some(reason) = decision.stop {
            self.stop = Some(CheckReport { hook: check.to_owned(), reason });
        }
        if let Some(input) = decision.updated_input {
            subject.rewrite(event, input.clone());
            self.updated_input = Some((report("the hook changed it"), input));
            self.record(InterventionAction::Rewrite, report("the hook changed it"));
        }
        if let Some(output) = decision.updated_output {
            subject.rewrite(event, json!(output));
            self.updated_output = Some((report("the hook changed it"), output));
            self.record(InterventionAction::Rewrite, report("the hook changed it"));
        }
        if verdict == Some(HookVerdict::Ask) {
            let report = report("the hook requires approval");
            self.ask.get_or_insert_with(|| report.clone());
            self.record(InterventionAction::Ask, report);
        }
        if notes {
            self.record(InterventionAction::Note, report(""));
        }
        match (&self.stop, &self.block) {
            (Some(stop), _) => self.interventions.push((InterventionAction::Stop, stop.clone())),
            (None, Some(block)) => {
                self.interventions.push((InterventionAction::Block, block.clone()));
            }
            (None, None) => {}
        }
        self.context.extend(decision.additional_context);
        self.messages.extend(decision.system_message);
    }

    /// Records a consequence, unless the same check refuses the subject.
    fn record(&mut self, action: InterventionAction, report: CheckReport) {
        if self.refusal().is_none() {
            self.interventions.push((action, report));
        }
    }
}
