//! Continuing the run of an earlier process: calls without results first, then the next request.

use std::sync::Arc;

use pi_protocol::{AgentMessage, Message, ToolResultMessage};
use pi_session::SessionError;

use super::{AgentSession, PromptError, Run, SessionEvent};

impl AgentSession {
    /// Prepares a run that continues from the end of the log. It executes the calls of the last
    /// answer that have no result, then sends the next request. An answer that failed or was
    /// aborted leaves the context, as in a retry.
    pub async fn resume(&self) -> Result<Run, PromptError> {
        let mut run = Run::begin(self).ok_or(PromptError::Busy)?;
        self.read_registry();
        let model = self.model().ok_or(PromptError::NoModel)?;
        if let Some(models) = &self.0.models {
            models.check_usable(&model)?;
        }
        self.read_log()?;
        while let Some(failed) = self.failed_last_entry()? {
            self.omit(&[failed]).await?;
        }
        self.configure_run();
        self.sync().synchronized();
        run.resumes = true;
        Ok(run)
    }

    /// Adds the result of a call that was made in an earlier process.
    pub async fn add_tool_result(&self, result: ToolResultMessage) -> Result<(), SessionError> {
        self.read_log()?;
        let message = AgentMessage::from(Message::ToolResult(Arc::new(result)));
        self.store(&message)?;
        self.message_appended(message.clone());
        self.emit(SessionEvent::MessageStart { message: message.clone() }).await;
        self.emit(SessionEvent::MessageEnd { message }).await;
        Ok(())
    }

    /// Returns the entry of the last message if it is an answer that failed.
    fn failed_last_entry(&self) -> Result<Option<String>, SessionError> {
        let entries = self.log().projection()?;
        let last = entries.iter().rev().find_map(|entry| {
            let message = entry.messages.last()?;
            Some((entry, message))
        });
        Ok(last.and_then(|(entry, message)| {
            let failed = message.as_assistant()?.stop_reason.is_failure();
            failed.then(|| entry.entry.id.clone())
        }))
    }
}
