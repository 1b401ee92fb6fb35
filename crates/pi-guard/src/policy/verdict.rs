//! The verdict of the policy.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::Scope;
use crate::Decision;

/// The decision about a script, a file, a host or a tool call, with its reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Verdict {
    /// The strictest decision of all parts.
    pub decision: Decision,
    /// The action is allowed in the sandbox only, because its effects cannot be determined.
    pub confined: bool,
    /// The decisions that the verdict consists of.
    pub parts: Vec<Part>,
}

/// The decision about one command, file, host or uncertainty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Part {
    /// The command, file, host or tool.
    pub what: String,
    /// The decision.
    pub decision: Decision,
    /// The decision applies in the sandbox only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confined: bool,
    /// The part is a builtin that neither reads, writes nor runs anything.
    #[serde(skip)]
    pub inert: bool,
    /// File and line of the rule that decided. `None` if no rule did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The reason, for the user and the model.
    pub reason: String,
    /// The scope of an approval.
    pub scope: Scope,
}

impl Part {
    /// A decision that no rule made and that needs no sandbox.
    #[must_use]
    pub fn new(
        what: impl Into<String>,
        decision: Decision,
        reason: impl Into<String>,
        scope: Scope,
    ) -> Self {
        let (what, reason) = (what.into(), reason.into());
        Self { what, decision, confined: false, inert: false, rule: None, reason, scope }
    }

    /// A decision of a rule, given its origin and justification.
    pub(super) fn by_rule(
        what: impl Into<String>,
        decision: Decision,
        origin: &str,
        justification: Option<&str>,
        scope: Scope,
    ) -> Self {
        let reason = justification.unwrap_or(match decision {
            Decision::Allow => "a rule allows it",
            Decision::Ask => "a rule requires approval",
            Decision::Forbid => "a rule forbids it",
        });
        Self { rule: Some(origin.to_owned()), ..Self::new(what, decision, reason, scope) }
    }
}

impl Verdict {
    /// The verdict of these decisions.
    #[must_use]
    pub fn from_parts(parts: Vec<Part>) -> Self {
        let decision = parts.iter().map(|part| part.decision).max().unwrap_or(Decision::Allow);
        let confined = parts.iter().any(|part| part.confined);
        Self { decision, confined, parts }
    }

    /// Returns the part that decided: the first of the strictest.
    #[must_use]
    pub fn decisive(&self) -> Option<&Part> {
        self.parts.iter().find(|part| part.decision == self.decision)
    }

    /// Describes the verdict, one line per part.
    #[must_use]
    pub fn explain(&self) -> String {
        let name = |decision| match decision {
            Decision::Allow => "allow",
            Decision::Ask => "ask",
            Decision::Forbid => "forbid",
        };
        let mut text = name(self.decision).to_owned();
        if self.confined && self.decision == Decision::Allow {
            text.push_str(" (only in the sandbox)");
        }
        for part in &self.parts {
            // Writing to a string does not fail.
            let _ = write!(text, "\n  {:<6} {}: {}", name(part.decision), part.what, part.reason);
            if let Some(rule) = &part.rule {
                let _ = write!(text, " [{rule}]");
            }
        }
        text
    }
}
