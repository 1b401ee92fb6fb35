//! The agent as the host of a run: it updates its state with each event, then its listeners.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use pi_protocol::{
    AgentMessage, AssistantBlock, AssistantMessage, CancelToken, Message, Model, StopReason, now_ms,
};

use super::Agent;
use crate::call::panic_text;
use crate::error::RunError;
use crate::event::AgentEvent;
use crate::limits::Limit;
use crate::listener::EventContext;
use crate::outcome::Outcome;
use crate::queue::{Incoming, QueueKind};
use crate::run::{EventDetails, Host};
use crate::settings::SteeringDelivery;
use crate::tool::BoxFuture;

/// The host of one run.
pub(super) struct AgentHost {
    agent: Agent,
    cancel: CancelToken,
    turns_started: u32,
    outcome: Option<Outcome>,
}

impl Host for AgentHost {
    fn emit<'a>(
        &'a mut self,
        event: AgentEvent,
        details: EventDetails<'a>,
    ) -> BoxFuture<'a, Result<(), RunError>> {
        self.update_state(&event);
        let listeners: Vec<_> =
            self.agent.listeners().iter().map(|(_, listener)| Arc::clone(listener)).collect();
        let timestamp = now_ms();
        Box::pin(async move {
            let context = EventContext {
                streaming: details.streaming,
                queued: details.queued,
                turn_index: self.turns_started.saturating_sub(1),
                timestamp,
                cancel: &self.cancel,
            };
            for listener in listeners {
                let handling = AssertUnwindSafe(async { listener.on_event(&event, context).await });
                match handling.catch_unwind().await {
                    Ok(result) => result?,
                    Err(panic) => return Err(RunError::new(panic_text(&*panic))),
                }
            }
            Ok(())
        })
    }

    fn take_queued(&mut self, queue: QueueKind) -> Vec<Incoming> {
        self.agent.state().queue(queue).take()
    }

    fn steering_delivery(&self) -> SteeringDelivery {
        self.agent.state().settings.steering_delivery
    }
}

impl AgentHost {
    pub(super) fn new(agent: &Agent, cancel: CancelToken) -> Self {
        Self { agent: agent.clone(), cancel, turns_started: 0, outcome: None }
    }

    /// Returns the outcome of the run as its last event reported it.
    pub(super) fn outcome(self) -> Outcome {
        self.outcome.unwrap_or(Outcome::Completed)
    }

    fn update_state(&mut self, event: &AgentEvent) {
        let mut state = self.agent.state();
        match event {
            AgentEvent::TurnStart => self.turns_started += 1,
            AgentEvent::MessageEnd { message } => state.transcript.push(message.clone()),
            AgentEvent::ToolExecutionStart { tool_call_id, .. } => {
                state.pending_tool_calls.insert(tool_call_id.clone());
            }
            AgentEvent::ToolExecutionEnd { tool_call_id, .. } => {
                state.pending_tool_calls.remove(tool_call_id);
            }
            AgentEvent::TurnEnd { message, .. } => {
                if let Some(error) = &message.error_message {
                    state.error = Some(error.clone());
                }
            }
            AgentEvent::AgentEnd { outcome, .. } => self.outcome = Some(outcome.clone()),
            _ => {}
        }
    }

    /// Ends a run that broke: emits a message with the error and closes the turn and the run. A
    /// limit that cancelled the run is its outcome.
    pub(super) async fn fail(&mut self, model: &Model, error: String, limit: Option<Limit>) {
        let aborted = self.cancel.is_cancelled() || limit.is_some();
        let message = Arc::new(AssistantMessage {
            content: vec![AssistantBlock::text("")],
            stop_reason: if aborted { StopReason::Aborted } else { StopReason::Error },
            error_message: Some(error.clone()),
            timestamp: now_ms(),
            ..AssistantMessage::pending(model)
        });
        let as_message = AgentMessage::from(Message::Assistant(Arc::clone(&message)));
        let outcome = match limit {
            Some(limit) => Outcome::Limit { limit },
            None if aborted => Outcome::Aborted,
            None => Outcome::Failed { error },
        };
        for event in [
            AgentEvent::MessageStart { message: as_message.clone() },
            AgentEvent::MessageEnd { message: as_message.clone() },
            AgentEvent::TurnEnd { message, tool_results: Vec::new() },
            AgentEvent::AgentEnd { messages: vec![as_message], outcome },
        ] {
            // The run has failed already; a second failure of a listener adds nothing.
            let _ = self.emit(event, EventDetails::default()).await;
        }
    }
}
