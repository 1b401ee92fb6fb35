//! The decision about a call, for reports and recordings.

use std::sync::Arc;

use pi_agent::BoxFuture;
use pi_guard::Decision;
use pi_guard::policy::Part;

use super::{CallDecision, Guard, Judgment, ToolDecision};
use crate::tap::{Tap, TappedCall};

/// Emits a decision.
pub(crate) type EmitDecision =
    Box<dyn Fn(Arc<ToolDecision>) -> BoxFuture<'static, ()> + Send + Sync>;

impl Guard {
    /// Returns the tap that sees the calls.
    pub(super) fn tap(&self) -> Option<&Arc<dyn Tap>> {
        self.tap.as_ref()
    }

    /// Passes the decision about a call to the tap and, unless the call simply runs, to the
    /// subscribers of the session.
    pub(super) async fn decided(
        &self,
        call: TappedCall<'_>,
        what: &str,
        decision: CallDecision,
        reasons: Vec<String>,
    ) {
        let decision = ToolDecision {
            tool_call_id: call.id.to_owned(),
            tool_name: call.tool.to_owned(),
            what: self.redact(what).into_owned(),
            decision,
            reasons: reasons.iter().map(|reason| self.redact(reason).into_owned()).collect(),
        };
        if let Some(tap) = self.tap() {
            tap.decided(&call, &decision);
        }
        if let Some(emit) = &self.emit_decision
            && decision.decision != CallDecision::Run
        {
            emit(Arc::new(decision)).await;
        }
    }
}

impl Judgment {
    /// Returns the reasons for a decision other than a plain permission.
    pub(super) fn reasons(&self) -> Vec<String> {
        let decisive = |part: &&Part| match self.verdict.decision {
            Decision::Allow => part.confined,
            strictest => part.decision == strictest,
        };
        let parts = self.verdict.parts.iter().filter(decisive);
        parts.map(describe).chain(self.note.clone()).collect()
    }
}

fn describe(part: &Part) -> String {
    let rule = part.rule.as_ref().map(|rule| format!(" [{rule}]")).unwrap_or_default();
    format!("{}: {}{rule}", part.what, part.reason)
}
