//! From the first request until everything is settled: runs of the loop, and what follows each.

use pi_agent::Outcome;
use pi_protocol::{AgentMessage, EntryBody, StopReason};
use pi_session::compaction::CheckTime;

use super::event::last_answer;
use super::{AgentSession, SessionNews};
use crate::extension::{BoundaryEvent, Notice};

/// A run that is about to begin. The session counts as busy from now on; dropping it without
/// finishing it makes the session idle again.
#[derive(Debug)]
#[must_use = "the run begins when it is finished"]
pub struct Run {
    session: AgentSession,
    pub(super) messages: Vec<AgentMessage>,
}

/// What follows a run of the loop.
pub(super) enum Next {
    /// The loop goes on from where the conversation stands.
    Continue,
    /// Nothing.
    Settle,
}

impl Run {
    /// Takes the session; `None` if it is busy.
    pub(super) fn begin(session: &AgentSession) -> Option<Self> {
        {
            let mut state = session.state();
            if state.running {
                return None;
            }
            state.running = true;
            state.abort_requested = false;
        }
        session.update_busy();
        Some(Self { session: session.clone(), messages: Vec::new() })
    }

    /// Runs until everything is settled. Returns how the last run of the loop ended.
    pub async fn finish(mut self) -> Outcome {
        let session = self.session.clone();
        let messages = std::mem::take(&mut self.messages);
        session.announce_guard().await;
        let mut outcome = ended(session.0.agent.prompt_messages(messages).await);
        loop {
            match session.after_run().await {
                Next::Continue => outcome = ended(session.0.agent.continue_run().await),
                Next::Settle if session.before_settle(&outcome).await => {
                    outcome = ended(session.0.agent.continue_run().await);
                }
                Next::Settle => break,
            }
        }
        let aborted = session.was_aborted();
        drop(self);
        session.news(SessionNews::AgentSettled { aborted }).await;
        let notice = Notice::AgentSettled { aborted };
        session.0.extensions.notice(&notice, &session.extension_context()).await;
        outcome
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        {
            let mut state = self.session.state();
            state.running = false;
            state.retry_attempt = 0;
            state.forced_prompt = None;
        }
        self.session.update_busy();
    }
}

fn ended(result: Result<Outcome, pi_agent::AgentError>) -> Outcome {
    result.unwrap_or_else(|error| Outcome::Failed { error: error.to_string() })
}

impl AgentSession {
    pub(super) fn update_busy(&self) {
        let busy = {
            let state = self.state();
            state.running || state.compaction.is_some()
        };
        self.0.busy.send_replace(busy);
    }

    /// The last answer was aborted, or an abort came between answers.
    fn was_aborted(&self) -> bool {
        let messages = self.messages();
        let aborted = last_answer(messages.iter())
            .is_some_and(|answer| answer.stop_reason == StopReason::Aborted);
        aborted || self.state().abort_requested
    }

    /// Retry, compact, or nothing.
    async fn after_run(&self) -> Next {
        if self.flush_bash().is_err() || self.state().abort_requested {
            return Next::Settle;
        }
        if self.retry_after_failure().await {
            return Next::Continue;
        }
        let retry = self.compact_if_needed(CheckTime::AfterRun).await;
        if self.state().abort_requested {
            return Next::Settle;
        }
        if retry || self.can_deliver() { Next::Continue } else { Next::Settle }
    }

    /// Messages came in while the session was busy with itself.
    fn can_deliver(&self) -> bool {
        let messages = self.messages();
        let failed =
            last_answer(messages.iter()).is_some_and(|answer| answer.stop_reason.is_failure());
        !failed && self.0.agent.has_queued()
    }

    /// Extensions have the last word; true if one of them wants to go on and that is possible.
    async fn before_settle(&self, outcome: &Outcome) -> bool {
        let name = match outcome {
            Outcome::Aborted => "aborted",
            Outcome::Failed { .. } => "error",
            _ => "completed",
        };
        let messages = self.messages();
        let event =
            BoundaryEvent { message: last_answer(messages.iter()), outcome: name, goes_on: false };
        let context = self.extension_context();
        let answer = self.0.extensions.boundary(&event, true, &context).await;
        self.append_drafts(answer.entries).await;
        let last_role = self.messages().last().map(|last| last.role().to_owned());
        let can_go_on =
            last_role.is_some_and(|role| role != "assistant") || self.0.agent.has_queued();
        answer.goes_on && can_go_on && !self.state().abort_requested
    }

    /// Adds entries of extensions to the conversation.
    pub(super) async fn append_drafts(&self, drafts: Vec<EntryBody>) {
        let mut changed = false;
        for draft in drafts {
            let appended = match draft {
                EntryBody::Custom { custom_type, data } => {
                    self.entries().append_custom(&custom_type, data)
                }
                EntryBody::CustomMessage(message) => {
                    changed = true;
                    let message = *message;
                    self.entries().append_custom_message(
                        &message.custom_type,
                        message.content,
                        message.display,
                        message.details,
                    )
                }
                EntryBody::ContextEdit(edit) => {
                    changed = true;
                    self.state().edited = true;
                    let content = edit.replacement.map(|replacement| replacement.content);
                    self.entries().append_context_edit(&edit.target_id, content)
                }
                _ => continue,
            };
            match appended {
                Ok(id) => drop(self.appended(&id).await),
                Err(error) => {
                    self.0
                        .ui
                        .notify(&format!("An extension's entry was not added: {error}"), "error");
                }
            }
        }
        if changed && let Err(error) = self.refresh() {
            self.0.ui.notify(&format!("The conversation could not be read: {error}"), "error");
        }
    }
}
