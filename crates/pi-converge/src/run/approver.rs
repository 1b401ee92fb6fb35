//! The approver of a run without anyone to ask: decisions of the user who resumes the run, and
//! otherwise a list of what is pending.

use std::collections::VecDeque;
use std::sync::{Mutex, OnceLock};

use pi_agent::{BoxFuture, UnansweredCalls};
use pi_base::lock;
use pi_coding_agent::guard::{ApprovalDecision, ApprovalRequest, Approver};
use pi_coding_agent::session::{AgentSession, WeakAgentSession};
use serde_json::Value;

use crate::report::PendingAction;

/// Decisions about the pending actions of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decisions {
    /// Numbers of the actions that are approved.
    pub approve: Vec<u32>,
    /// Numbers of the actions that are rejected, with the reason for the model.
    pub reject: Vec<(u32, Option<String>)>,
    /// Approves all actions that are not rejected.
    pub approve_all: bool,
}

impl Decisions {
    /// Returns true if nothing is decided.
    pub fn is_empty(&self) -> bool {
        self.approve.is_empty() && self.reject.is_empty() && !self.approve_all
    }

    /// Returns the decision about an action.
    fn about(&self, number: u32) -> Option<ApprovalDecision> {
        let rejected = self.reject.iter().find(|(rejected, _)| *rejected == number);
        if let Some((_, reason)) = rejected {
            return Some(ApprovalDecision::Deny { reason: reason.clone() });
        }
        let approved = self.approve_all || self.approve.contains(&number);
        approved.then_some(ApprovalDecision::Once)
    }
}

/// A decision that does not fit the pending actions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidDecision {
    /// No action has this number.
    #[error("no pending action has the number {number}; pending: {}", list(.pending))]
    Unknown {
        /// The number.
        number: u32,
        /// The numbers of the pending actions.
        pending: Vec<u32>,
    },
    /// An action is approved and rejected.
    #[error("the action {0} is both approved and rejected")]
    Contradiction(u32),
}

fn list(numbers: &[u32]) -> String {
    if numbers.is_empty() {
        return "none".to_owned();
    }
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// Applies decisions once each, and records all other requests as pending.
#[derive(Debug, Default)]
pub(crate) struct DeferringApprover {
    /// Actions that were pending before.
    earlier: Vec<PendingAction>,
    /// The session that knows the secrets, once it exists.
    redacting: OnceLock<WeakAgentSession>,
    decided: Mutex<VecDeque<(PendingAction, ApprovalDecision)>>,
    requests: Mutex<Vec<ApprovalRequest>>,
}

impl DeferringApprover {
    pub(crate) fn new(
        pending: &[PendingAction],
        decisions: &Decisions,
    ) -> Result<Self, InvalidDecision> {
        let known: Vec<u32> = pending.iter().map(|action| action.number).collect();
        let rejected = decisions.reject.iter().map(|(number, _)| number);
        for number in decisions.approve.iter().chain(rejected) {
            if !known.contains(number) {
                return Err(InvalidDecision::Unknown { number: *number, pending: known });
            }
        }
        for (number, _) in &decisions.reject {
            if decisions.approve.contains(number) {
                return Err(InvalidDecision::Contradiction(*number));
            }
        }
        let decided = pending
            .iter()
            .filter_map(|action| Some((action.clone(), decisions.about(action.number)?)))
            .collect();
        let earlier = pending.to_vec();
        Ok(Self { earlier, decided: Mutex::new(decided), ..Self::default() })
    }

    /// Returns the actions that wait for approval. `waiting` are the calls of the run's own session
    /// that have no result.
    pub(crate) fn pending(&self, waiting: Option<&UnansweredCalls>) -> Vec<PendingAction> {
        let calls = waiting.map(|waiting| waiting.calls.as_slice()).unwrap_or_default();
        let is_own =
            |request: &ApprovalRequest| calls.iter().any(|call| call.id == request.tool_call_id);
        let requests = lock(&self.requests);
        let own = requests.iter().filter(|request| is_own(request)).count();
        // A call that waits without a request of its own waits for requests of a sub-agent.
        let has_others = own < calls.len();
        let mut earlier = self.earlier.clone();
        let mut next = earlier.iter().map(|action| action.number).max().unwrap_or(0) + 1;
        let mut pending: Vec<PendingAction> = Vec::new();
        for request in requests.iter().filter(|request| has_others || is_own(request)) {
            // An action that stays pending keeps its number.
            let number = match earlier.iter().position(|action| is_about(action, request)) {
                Some(at) => earlier.remove(at).number,
                None => {
                    next += 1;
                    next - 1
                }
            };
            let call = calls.iter().find(|call| call.id == request.tool_call_id);
            pending.push(PendingAction {
                number,
                id: request.tool_call_id.clone(),
                tool: request.tool.clone(),
                what: request.what.clone(),
                arguments: call.map_or(Value::Null, |call| call.arguments.clone().into()),
                reasons: request.reasons(),
                change: request.change.clone(),
            });
        }
        pending.sort_by_key(|action| action.number);
        pending
    }

    /// Redacts secrets in requests from now on, as the session does. Requests have the arguments
    /// with which a tool would be executed.
    pub(crate) fn redact_with(&self, session: &AgentSession) {
        // All sessions of a run have the same secrets.
        let _ = self.redacting.set(session.downgrade());
    }

    fn redacted(&self, request: &ApprovalRequest) -> ApprovalRequest {
        let mut request = request.clone();
        if let Some(session) = self.redacting.get().and_then(WeakAgentSession::upgrade) {
            let redact = |text: &mut String| *text = session.redacted(text).into_owned();
            redact(&mut request.what);
            request.change.iter_mut().for_each(redact);
            for part in &mut request.parts {
                redact(&mut part.what);
                redact(&mut part.reason);
            }
        }
        request
    }
}

/// Returns true if a request is about a pending action. Ids can occur several times.
fn is_about(action: &PendingAction, request: &ApprovalRequest) -> bool {
    action.id == request.tool_call_id && action.tool == request.tool && action.what == request.what
}

impl Approver for DeferringApprover {
    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        let request = self.redacted(request);
        let is_first = request.wider.is_none();
        let mut decided = lock(&self.decided);
        let found = decided.iter().position(|(action, _)| is_first && is_about(action, &request));
        // A decision is used up by the call that it is about.
        let decision = match found.and_then(|at| decided.remove(at)) {
            Some((_, decision)) => decision,
            None => {
                if is_first {
                    lock(&self.requests).push(request);
                }
                ApprovalDecision::Defer
            }
        };
        Box::pin(std::future::ready(decision))
    }
}
