//! Calls for which a hook requires approval, in addition to the rules.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use pi_guard::Decision;
use pi_guard::policy::{Part, Scope};
use serde_json::Value;

use super::{Call, Guard};

/// The reasons by the id of the call.
#[derive(Debug, Default)]
pub(super) struct RequiredApprovals(Mutex<BTreeMap<String, String>>);

impl Guard {
    /// Requires approval for a call that is about to be made.
    pub(crate) fn require_approval(&self, call_id: &str, reason: String) {
        let mut required = self.required.0.lock().unwrap_or_else(PoisonError::into_inner);
        required.insert(call_id.to_owned(), reason);
    }

    /// Returns the part of a call that needs approval because a hook requires it. An approval for
    /// the session covers the same call with the same arguments only.
    pub(super) fn take_required(&self, call_id: &str, call: Call<'_>) -> Option<Part> {
        let mut required = self.required.0.lock().unwrap_or_else(PoisonError::into_inner);
        let reason = required.remove(call_id)?;
        let arguments = Value::Object(call.arguments.clone()).to_string();
        let scope = Scope::Exactly { words: vec![call.tool.to_owned(), arguments] };
        let mut part = Part::new(call.tool, Decision::Ask, reason, scope);
        // A hook asks like a rule: no lasting approval replaces it.
        part.rule = Some("hook".to_owned());
        Some(part)
    }
}
