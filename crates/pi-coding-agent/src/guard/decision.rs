//! The decision about a call, for reports and recordings.

use std::sync::Arc;

use pi_agent::BoxFuture;
use pi_guard::Decision;
use pi_guard::policy::Part;
use serde::{Deserialize, Serialize};

use super::{Guard, Judgment};
use crate::tap::{Tap, TappedCall};

/// The decision about a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolDecision {
    /// Id of the call.
    pub tool_call_id: String,
    /// Name of the tool.
    pub tool_name: String,
    /// The command, the file or the arguments.
    pub what: String,
    /// The decision.
    pub decision: CallDecision,
    /// The reasons for a decision other than `run`, one for each part of the call.
    pub reasons: Vec<String>,
}

/// The way in which a call proceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallDecision {
    /// The call ran without the sandbox.
    Run,
    /// The call ran in the sandbox.
    RunConfined,
    /// The call ran because an approver allowed it.
    Approved,
    /// The call did not run.
    Refused,
    /// The call waits for an approval that can be given later.
    Deferred,
}

impl CallDecision {
    /// Returns the name, as events and reports contain it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::RunConfined => "run-confined",
            Self::Approved => "approved",
            Self::Refused => "refused",
            Self::Deferred => "deferred",
        }
    }
}

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
