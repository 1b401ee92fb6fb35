//! Approval requests, their decisions, and what a session remembers of them.
//!
//! Requests and decisions are plain data, so that another process can decide. An approval is
//! remembered by what was asked about ([`Scope`]), never by the kind of action.

use std::sync::{Arc, Mutex};

use pi_agent::BoxFuture;
use pi_base::lock;
use pi_guard::policy::{Part, Scope};
use serde::{Deserialize, Serialize};

/// Decides about actions that need approval: the user, a model, another program.
///
/// Contract: an approver that cannot decide denies.
pub trait Approver: Send + Sync {
    /// Decides about one request.
    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision>;
}

/// A request to approve one action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// Id of the tool call.
    pub tool_call_id: String,
    /// Name of the tool.
    pub tool: String,
    /// Description of the action: the command, or the file.
    pub what: String,
    /// The text that the action removes and adds, if it changes a file: lines that begin with `-`
    /// or `+`. For screens; other programs have the arguments.
    #[serde(skip)]
    pub change: Option<String>,
    /// Working directory of the session.
    pub cwd: String,
    /// The parts of the action that need approval, with reasons.
    pub parts: Vec<Part>,
    /// Set if the sandbox denied a first attempt: the additional rights of a second one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wider: Option<String>,
    /// Scopes that an approval for the session covers.
    pub remembered: Vec<Scope>,
    /// Rules that a lasting approval adds; `None` if a lasting approval is not offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

impl ApprovalRequest {
    /// Creates a request for the parts of a call that need approval. An action of which any part
    /// destroys something is approved once.
    pub fn new(tool: &str, tool_call_id: &str, what: &str, cwd: &str, parts: Vec<Part>) -> Self {
        let mut remembered: Vec<Scope> = Vec::new();
        let is_lasting = parts.iter().all(|part| part.scope.is_lasting());
        for part in &parts {
            if is_lasting && !remembered.contains(&part.scope) {
                remembered.push(part.scope.clone());
            }
        }
        // If a rule says to ask, only its author may change that.
        let asked_by_rule = parts.iter().any(|part| part.rule.is_some());
        let rules: Option<Vec<String>> = remembered.iter().map(Scope::rule).collect();
        let rule = match rules {
            Some(rules) if !asked_by_rule && !rules.is_empty() => Some(rules.join("\n")),
            _ => None,
        };
        Self {
            tool_call_id: tool_call_id.to_owned(),
            tool: tool.to_owned(),
            what: what.to_owned(),
            change: None,
            cwd: cwd.to_owned(),
            parts,
            wider: None,
            remembered,
            rule,
        }
    }

    /// Returns the reasons for the request, one line each.
    pub fn reasons(&self) -> Vec<String> {
        let mut reasons: Vec<String> = Vec::new();
        for part in &self.parts {
            let rule = part.rule.as_ref().map(|rule| format!(" [{rule}]")).unwrap_or_default();
            let reason = format!("{}: {}{rule}", part.what, part.reason);
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        reasons
    }
}

/// The decision about an [`ApprovalRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "lowercase")]
#[non_exhaustive]
pub enum ApprovalDecision {
    /// Approves this action.
    Once,
    /// Approves this action, and every action of the same scope in this session.
    Session,
    /// Approves this action for good: the proposed rule is added to the user's rules.
    Always,
    /// Denies this action.
    #[serde(rename = "no")]
    Deny {
        /// Reason, for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Leaves the decision open: the call is suspended, and the run ends after the other calls of
    /// the turn. A run that is resumed asks again.
    Defer,
}

/// The approvals of a session. Clones share them, so that sub-agents do not ask again.
#[derive(Debug, Clone, Default)]
pub struct Approvals(Arc<Mutex<Vec<Scope>>>);

impl Approvals {
    /// Creates approvals from those of an earlier session.
    pub fn new(scopes: Vec<Scope>) -> Self {
        Self(Arc::new(Mutex::new(scopes)))
    }

    /// Returns what was approved so far. The result can be stored and passed to
    /// [`Approvals::new`].
    pub fn scopes(&self) -> Vec<Scope> {
        lock(&self.0).clone()
    }

    /// Adds approved scopes.
    pub fn add(&self, scopes: &[Scope]) {
        let mut approved = lock(&self.0);
        for scope in scopes {
            if !approved.iter().any(|known| known.covers(scope)) {
                approved.push(scope.clone());
            }
        }
    }

    /// Returns true if an approval covers this scope.
    pub fn covers(&self, scope: &Scope) -> bool {
        let approved = lock(&self.0);
        approved.iter().any(|known| known.covers(scope))
    }
}
