//! The actions of the current round that the policy refused.
//!
//! If the checks of the last round fail after a refusal, the work needed what the policy forbids: the
//! run ends as forbidden, and not as failed or stuck.

use std::sync::{Arc, Mutex};

use pi_base::lock;
use pi_coding_agent::guard::{CallDecision, ToolDecision};
use pi_coding_agent::session::{AgentSession, SessionEvent, Subscription};

/// The refused actions of a round. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Refusals(Arc<Mutex<Vec<Arc<ToolDecision>>>>);

impl Refusals {
    /// Collects the refusals of a session.
    pub(crate) fn collect(&self, session: &AgentSession) -> Subscription {
        let refusals = self.clone();
        session.subscribe(move |event| {
            if let SessionEvent::ToolDecision { decision } = event
                && decision.decision == CallDecision::Refused
            {
                lock(&refusals.0).push(Arc::clone(decision));
            }
        })
    }

    /// Forgets the refusals of earlier rounds.
    pub(crate) fn begin_round(&self) {
        lock(&self.0).clear();
    }

    /// Describes the last refused action of the round.
    pub(crate) fn last(&self) -> Option<String> {
        let list = lock(&self.0);
        let last = list.last()?;
        let what = last.what.lines().next().unwrap_or_default();
        let reasons = last.reasons.join("; ");
        Some(format!("The policy refused {}: {what} ({reasons}).", last.tool_name))
    }
}
