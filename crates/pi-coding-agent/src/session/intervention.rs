//! Recording of interventions, and the end of a run that one stops.

use std::sync::Arc;

use pi_protocol::CancelToken;

use super::{AgentSession, SessionEvent};
use crate::event::{Intervention, InterventionAction};

/// Type of the entry that records an intervention.
const ENTRY: &str = "guardrail";

impl AgentSession {
    /// Emits and records an intervention. One that stops the run also ends it.
    pub async fn intervene(&self, intervention: Intervention) {
        let stops = intervention.action == InterventionAction::Stop;
        let intervention = Arc::new(intervention);
        let data = serde_json::to_value(&*intervention).ok();
        let recorded = self.log().append_custom(ENTRY, data);
        if let Err(error) = recorded {
            self.warn(format!("A decision of {} was not recorded: {error}", intervention.by()));
        }
        self.emit(SessionEvent::Guardrail { intervention: Arc::clone(&intervention) }).await;
        if stops {
            self.0.activity.run(|run| {
                run.stopped_by.get_or_insert(intervention);
            });
            self.0.activity.request_abort();
            self.0.agent.abort();
        }
    }

    /// Returns the token that is cancelled when the current run is asked to end.
    pub(crate) fn abort_token(&self) -> CancelToken {
        self.0.activity.run(|run| run.abort.clone())
    }
}
