//! Questions about what is not allowed by itself, their answers, and what is remembered of them.
//!
//! Plain data, so that a question can be sent elsewhere and answered there. What is remembered is
//! keyed on what was asked about ([`Scope`]), never on the kind of action.

use std::sync::{Arc, Mutex, PoisonError};

use pi_agent::BoxFuture;
use pi_guard::policy::{Part, Scope};
use serde::{Deserialize, Serialize};

/// Somebody who can say yes: the user, a model, a program.
pub trait Approver: Send + Sync {
    /// Decides. Whoever cannot decide says no.
    fn decide<'a>(&'a self, question: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision>;
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequest {
    /// The call it is about.
    pub tool_call_id: String,
    /// The tool.
    pub tool: String,
    /// What it would do: the command, or the file.
    pub what: String,
    /// The working directory.
    pub cwd: String,
    /// What in it needs a yes, and why.
    pub parts: Vec<Part>,
    /// It was run already and denied something: what a second run could do more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wider: Option<String>,
    /// What a yes for this session is remembered for.
    pub remembered: Vec<Scope>,
    /// The rules that a yes for ever would add; nothing where that is not offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

impl ApprovalRequest {
    /// What needs a yes in a call.
    pub fn new(tool: &str, tool_call_id: &str, what: &str, cwd: &str, parts: Vec<Part>) -> Self {
        let mut remembered: Vec<Scope> = Vec::new();
        for part in &parts {
            if !remembered.contains(&part.scope) {
                remembered.push(part.scope.clone());
            }
        }
        // Where a rule asked, it is for whoever wrote it to change that.
        let by_rule = parts.iter().any(|part| part.rule.is_some());
        let rules: Option<Vec<String>> = remembered.iter().map(Scope::rule).collect();
        let rule = rules.filter(|rules| !by_rule && !rules.is_empty());
        Self {
            tool_call_id: tool_call_id.to_owned(),
            tool: tool.to_owned(),
            what: what.to_owned(),
            cwd: cwd.to_owned(),
            parts,
            wider: None,
            remembered,
            rule: rule.map(|rules| rules.join("\n")),
        }
    }

    /// Why it is asked, one line per reason.
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

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "lowercase")]
pub enum ApprovalDecision {
    /// Yes, this time.
    Once,
    /// Yes, and also for what is like it in this session.
    Session,
    /// Yes, and for ever: the rule is added to the user's.
    Always,
    /// No.
    #[serde(rename = "no")]
    Deny {
        /// Why, for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

/// What was approved for a session. Clones are the same, so that sub-agents share it.
#[derive(Debug, Clone, Default)]
pub struct Approvals(Arc<Mutex<Vec<Scope>>>);

impl Approvals {
    /// Approvals that were given before.
    pub fn new(given: Vec<Scope>) -> Self {
        Self(Arc::new(Mutex::new(given)))
    }

    /// What was approved so far; can be written down and given to [`Approvals::new`].
    pub fn given(&self) -> Vec<Scope> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Remembers an approval.
    pub fn add(&self, scopes: &[Scope]) {
        let mut given = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for scope in scopes {
            if !given.iter().any(|known| known.covers(scope)) {
                given.push(scope.clone());
            }
        }
    }

    /// Whether a question of this scope was answered already.
    pub fn cover(&self, scope: &Scope) -> bool {
        let given = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        given.iter().any(|known| known.covers(scope))
    }
}
