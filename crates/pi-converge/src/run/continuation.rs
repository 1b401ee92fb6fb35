//! How the step of an earlier process continues.

use pi_agent::unanswered_calls;
use pi_coding_agent::session::AgentSession;
use pi_protocol::{AgentMessage, EntryBody, Message};
use pi_session::{Session, SessionError};

use super::calls::interrupted;
use super::{Ended, Running};
use crate::directory::{CallState, Recorded, Step};
use crate::outcome::Outcome;

/// The continuation of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Continuation {
    /// The prompt is not in the session yet.
    Prompt,
    /// The agent continues from the end of the session.
    Resume,
    /// The agent has ended.
    Verify,
}

impl Running {
    /// Determines the continuation of the recorded step. Adds the results of calls that the earlier
    /// process executed.
    pub(crate) async fn continuation(
        &self,
        session: &AgentSession,
        recorded: &Recorded,
    ) -> Result<Continuation, Ended> {
        let failed = |error: SessionError| Ended::new(Outcome::Failed, error.to_string());
        let after = match &self.state.step {
            Step::Start => return Ok(Continuation::Prompt),
            Step::Verify => return Ok(Continuation::Verify),
            Step::Agent { after, .. } => after.as_deref(),
        };
        let delivered = session.with_log(|log| is_prompted(log, after)).map_err(failed)?;
        if !delivered {
            return Ok(Continuation::Prompt);
        }
        let id = session.id();
        let unanswered = unanswered_calls(&session.messages());
        for call in unanswered.iter().flat_map(|unanswered| &unanswered.calls) {
            let result = match recorded.call(&id, &call.id) {
                CallState::NotStarted => continue,
                CallState::Ended(result) => (*result).clone(),
                CallState::Started { at } => interrupted(call, at, session.workspace().cwd()),
            };
            session.add_tool_result(result).await.map_err(failed)?;
        }
        let messages = session.messages();
        let last = messages.iter().rev().find(|message| message.role() != "system");
        let has_ended = last.and_then(|last| last.as_assistant()).is_some_and(|answer| {
            !answer.stop_reason.is_failure() && answer.tool_calls().next().is_none()
        });
        Ok(if has_ended { Continuation::Verify } else { Continuation::Resume })
    }
}

/// Returns true if the log has a prompt after an entry. A log that was never stored does not have the
/// entry, and no prompt.
fn is_prompted(log: &Session, after: Option<&str>) -> Result<bool, SessionError> {
    let mut prompted = false;
    for entry in log.branch_entries(None)? {
        let entry = entry?;
        if let EntryBody::Message(AgentMessage::Llm(Message::User(_))) = &entry.body {
            prompted = true;
        }
        if Some(entry.id.as_str()) == after {
            prompted = false;
        }
    }
    Ok(prompted)
}
