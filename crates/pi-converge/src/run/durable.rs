//! What makes an attempt durable: its session in the run directory, and the journal of its calls.

use std::sync::Arc;

use pi_agent::unanswered_calls;
use pi_coding_agent::guard::Approver;
use pi_coding_agent::session::{AgentSession, SessionEvent, Subscription};
use pi_coding_agent::{AgentOptions, SessionSelector};
use pi_protocol::{ToolResultMessage, now_ms};

use super::relocate::relocate;
use super::{Ended, Running};
use crate::contract::ApprovalMode;
use crate::directory::JournalEntry;
use crate::outcome::Outcome;

impl Running {
    /// Sets the options that make a session durable. The id follows from the attempt, so that a run
    /// that is resumed finds its session.
    pub(super) fn make_durable(
        &self,
        options: &mut AgentOptions,
        attempt: u32,
    ) -> Result<(), Ended> {
        let id = format!("{}-{attempt}", self.directory.id());
        let sessions = self.directory.sessions();
        if self.resuming.is_some() {
            let moved = relocate(&sessions, &options.environment().cwd);
            moved.map_err(|error| Ended::new(Outcome::Failed, error.to_string()))?;
        }
        options.session.directory = Some(sessions.to_string_lossy().into_owned());
        options.guard.announce_calls = Some(self.journal.announce(&id));
        options.session.selector = SessionSelector::WithId(id);
        if self.contract.policy.approval == ApprovalMode::Defer {
            let approver: Arc<dyn Approver> = self.approver.clone();
            options.guard.approver = Some(approver);
        }
        Ok(())
    }

    /// Records answers and the results of tool calls in the journal.
    pub(super) fn record_events(&self, session: &AgentSession) -> Subscription {
        self.approver.redact_with(session);
        let (journal, budget, id) = (Arc::clone(&self.journal), self.budget.clone(), session.id());
        session.subscribe(move |event| match event {
            SessionEvent::MessageEnd { message } if message.as_assistant().is_some() => {
                journal.record(JournalEntry::Answer { session: id.clone(), spent: budget.spent() });
            }
            SessionEvent::ToolExecutionEnd {
                tool_call_id,
                result,
                parent_tool_call_id: None,
                ..
            } if result.suspended => {
                let (session, id) = (id.clone(), tool_call_id.clone());
                journal.record(JournalEntry::Suspend { session, id });
            }
            SessionEvent::ToolExecutionEnd {
                tool_call_id,
                tool_name,
                result,
                is_error,
                duration_ms,
                parent_tool_call_id: None,
            } => {
                let result = ToolResultMessage {
                    tool_call_id: tool_call_id.clone(),
                    tool_name: tool_name.clone(),
                    content: result.content.clone(),
                    details: result.details.clone(),
                    usage: result.usage.clone(),
                    is_error: *is_error,
                    duration_ms: duration_ms.map(|millis| millis as f64),
                    timestamp: now_ms(),
                    ..ToolResultMessage::default()
                };
                let session = id.clone();
                journal.record(JournalEntry::Result { session, result: Arc::new(result) });
            }
            _ => {}
        })
    }

    /// Ends the run with the actions that wait for approval.
    pub(super) fn suspended(&mut self, session: &AgentSession) -> Ended {
        let waiting = unanswered_calls(&session.messages());
        self.pending = self.approver.pending(waiting.as_ref());
        let reason = match self.pending.len() {
            1 => "1 action waits for approval.".to_owned(),
            count => format!("{count} actions wait for approval."),
        };
        Ended::new(Outcome::NeedsApproval, reason)
    }
}
