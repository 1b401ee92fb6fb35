//! What the policy answers.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::Scope;
use crate::Decision;

/// The decision about a script, a file, a host or a tool call, and what led to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Verdict {
    /// The strictest decision of all parts.
    pub decision: Decision,
    /// Whether it is allowed only where the operating system confines it, because nobody knows
    /// all of what it does.
    pub confined: bool,
    /// What was decided, one by one.
    pub parts: Vec<Part>,
}

/// The decision about one command, file, host or doubt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Part {
    /// What it is about.
    pub what: String,
    /// What was decided.
    pub decision: Decision,
    /// Whether that holds only under confinement.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confined: bool,
    /// The rule that decided: file and line. `None` for what is built in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Why, in words for the user and the model.
    pub reason: String,
    /// What an approval of it would be remembered for.
    pub scope: Scope,
}

impl Part {
    /// A part that no rule decided and that holds without a sandbox.
    #[must_use]
    pub fn new(
        what: impl Into<String>,
        decision: Decision,
        reason: impl Into<String>,
        scope: Scope,
    ) -> Self {
        let (what, reason) = (what.into(), reason.into());
        Self { what, decision, confined: false, rule: None, reason, scope }
    }
}

impl Verdict {
    /// The verdict that these parts make.
    #[must_use]
    pub fn from_parts(parts: Vec<Part>) -> Self {
        let decision = parts.iter().map(|part| part.decision).max().unwrap_or(Decision::Allow);
        let confined = parts.iter().any(|part| part.confined);
        Self { decision, confined, parts }
    }

    /// The part that decided: the first of the strictest.
    #[must_use]
    pub fn decisive(&self) -> Option<&Part> {
        self.parts.iter().find(|part| part.decision == self.decision)
    }

    /// The verdict in words, one line per part.
    #[must_use]
    pub fn explain(&self) -> String {
        let name = |decision| match decision {
            Decision::Allow => "allow",
            Decision::Ask => "ask",
            Decision::Forbid => "forbid",
        };
        let mut text = name(self.decision).to_owned();
        if self.confined && self.decision == Decision::Allow {
            text.push_str(" (only confined)");
        }
        for part in &self.parts {
            // Writing to a string cannot fail.
            let _ = write!(text, "\n  {:<6} {}: {}", name(part.decision), part.what, part.reason);
            if let Some(rule) = &part.rule {
                let _ = write!(text, " [{rule}]");
            }
        }
        text
    }
}
