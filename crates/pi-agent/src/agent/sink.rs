//! What an agent does with an event: its state first, then its listeners.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use pi_protocol::{
    AgentMessage, AssistantBlock, AssistantMessage, CancelToken, Message, Model, StopReason, now_ms,
};

use super::Agent;
use crate::call::panic_text;
use crate::event::AgentEvent;
use crate::listener::Scene;
use crate::outcome::Outcome;
use crate::run::{RunError, Sink};
use crate::tool::BoxFuture;

/// Keeps the agent's state up to date, then tells the listeners, in order.
pub(super) struct AgentSink {
    agent: Agent,
    cancel: CancelToken,
    outcome: Option<Outcome>,
}

impl Sink for AgentSink {
    fn emit<'a>(
        &'a mut self,
        event: AgentEvent,
        streaming: Option<&'a AssistantMessage>,
    ) -> BoxFuture<'a, Result<(), RunError>> {
        self.reduce(&event);
        let listeners: Vec<_> =
            self.agent.listeners().iter().map(|(_, listener)| Arc::clone(listener)).collect();
        Box::pin(async move {
            for listener in listeners {
                let scene = Scene { streaming, cancel: &self.cancel };
                let hearing = AssertUnwindSafe(async { listener.hear(&event, scene).await });
                match hearing.catch_unwind().await {
                    Ok(heard) => heard?,
                    Err(panic) => return Err(RunError(panic_text(&*panic))),
                }
            }
            Ok(())
        })
    }
}

impl AgentSink {
    pub(super) fn new(agent: &Agent, cancel: CancelToken) -> Self {
        Self { agent: agent.clone(), cancel, outcome: None }
    }

    /// How the run ended, as its last event said.
    pub(super) fn outcome(self) -> Outcome {
        self.outcome.unwrap_or(Outcome::Completed)
    }

    fn reduce(&mut self, event: &AgentEvent) {
        let mut state = self.agent.state();
        match event {
            AgentEvent::MessageEnd { message } => state.conversation.push(message.clone()),
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

    /// The run broke: a message that says so, and the end of all that is open.
    pub(super) async fn fail(&mut self, model: &Model, error: String) {
        let aborted = self.cancel.is_cancelled();
        let message = Arc::new(AssistantMessage {
            content: vec![AssistantBlock::text("")],
            stop_reason: if aborted { StopReason::Aborted } else { StopReason::Error },
            error_message: Some(error.clone()),
            timestamp: now_ms(),
            ..AssistantMessage::pending(model)
        });
        let as_message = AgentMessage::from(Message::Assistant(Arc::clone(&message)));
        let outcome = if aborted { Outcome::Aborted } else { Outcome::Failed { error } };
        for event in [
            AgentEvent::MessageStart { message: as_message.clone() },
            AgentEvent::MessageEnd { message: as_message.clone() },
            AgentEvent::TurnEnd { message, tool_results: Vec::new() },
            AgentEvent::AgentEnd { messages: vec![as_message], outcome },
        ] {
            // A listener that fails again has been reported already.
            let _ = self.emit(event, None).await;
        }
    }
}
