//! Checks at a limit: they ask no model, and the work may be complete.

use pi_agent::{Limit, Limits};

use super::work::Verdict;
use super::{Ended, Running};
use crate::outcome::Outcome;

impl Running {
    /// Returns the limit at which the agent ended, if the checks are made all the same. They take
    /// time, so a time limit ends them, too.
    pub(super) fn checked_limit(&self, ended: &Ended) -> Option<Limit> {
        let limit = ended.limit?;
        let is_time = matches!(limit, Limit::WallTime | Limit::IdleTime);
        // A recording of an earlier version has no checks there.
        let is_made = !self.contract.verify.is_empty() && self.options.tape.has("checks");
        (is_made && !is_time).then_some(limit)
    }

    /// Returns the end of a run that was checked at a limit.
    pub(super) fn ended_at_limit(&self, limit: Limit, verdict: Verdict) -> Ended {
        let ended = match verdict {
            Verdict::Passed => Ended::new(Outcome::Converged, self.converged()),
            Verdict::Doubtful | Verdict::PassedWithOwnTests { .. } => self.needs_review(),
            Verdict::Failed => {
                let at_limit = Ended::at_limit(limit);
                let reason = format!("{} {}", at_limit.reason, self.failed_at_limit());
                return Ended { reason, ..at_limit };
            }
        };
        let limits = self.budget.limits();
        let reason =
            format!("{} Finished at the limit of {}.", ended.reason, amount(limit, limits));
        Ended { reason, limit: Some(limit), ..ended }
    }

    /// Describes the checks that failed, or were not made.
    fn failed_at_limit(&self) -> String {
        if self.checks.iter().any(|check| check.failed()) {
            return self.failed();
        }
        let skipped = self.checks.iter().filter(|check| check.skipped);
        let skipped: Vec<&str> = skipped.map(|check| check.name.as_str()).collect();
        format!("The other checks passed, but no model was left for: {}.", skipped.join(", "))
    }
}

/// Describes a limit with its number.
fn amount(limit: Limit, limits: &Limits) -> String {
    let number = match limit {
        Limit::Turns => limits.turns.map(|most| format!("{most} turns")),
        Limit::ToolCalls => limits.tool_calls.map(|most| format!("{most} tool calls")),
        Limit::Tokens => limits.tokens.map(|most| format!("{most} tokens")),
        Limit::Cost => limits.cost.map(|most| format!("${most}")),
        Limit::OutputBytes => limits.output_bytes.map(|most| format!("{most} bytes of output")),
        _ => None,
    };
    number.unwrap_or_else(|| limit.to_string())
}
