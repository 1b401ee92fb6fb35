//! A run: from its first request until everything is settled.

use std::sync::Arc;

use pi_agent::{Budget, Outcome};
use pi_protocol::{AgentMessage, EntryBody, StopReason};
use pi_session::SessionError;
use pi_session::compaction::CheckTime;

use super::last_answer;
use super::{AgentSession, SessionEvent, lock};
use crate::extension::{BeforeSettle, BoundaryState, QuestionKind, RunOutcome};

/// Type of the entry that records the restrictions of a session.
const GUARD_ENTRY: &str = "guard";

/// A run that is about to begin. The session is busy from now on; dropping the run without
/// finishing it makes the session idle again.
#[derive(Debug)]
#[must_use = "the run begins when it is finished"]
pub struct Run {
    session: AgentSession,
    pub(super) messages: Vec<AgentMessage>,
    /// The run continues from the end of the log instead of beginning with messages.
    pub(super) resumes: bool,
    budget: Budget,
}

/// Continuation after a run of the loop.
enum Next {
    /// The loop continues with the messages of the log.
    Continue,
    /// No work is left.
    Settle,
}

impl Run {
    /// Takes the session; `None` if it is busy.
    pub(super) fn begin(session: &AgentSession) -> Option<Self> {
        session.0.activity.begin_run().then(|| {
            let budget = session.0.meter.begin(session.settings().limits);
            session.0.agent.configure(|run| run.budget = Some(budget.clone()));
            Self { session: session.clone(), messages: Vec::new(), resumes: false, budget }
        })
    }

    /// Runs until everything is settled. Returns the outcome of the last run of the loop.
    pub async fn finish(mut self) -> Outcome {
        let (session, budget) = (self.session.clone(), self.budget.clone());
        let mut outcome = tokio::select! {
            outcome = self.work() => outcome,
            never = session.enforce_time(&budget) => match never {},
        };
        let aborted = session.was_aborted();
        if aborted && !matches!(outcome, Outcome::Limit { .. } | Outcome::Repetition { .. }) {
            // The abort may have come between two runs of the loop, such as before a retry.
            outcome = Outcome::Aborted;
        }
        if let Some(intervention) = session.0.activity.run(|run| run.stopped_by.take()) {
            outcome = intervention.outcome();
        }
        drop(self);
        session.emit(SessionEvent::AgentSettled { aborted }).await;
        outcome
    }

    /// Runs the loop until no retry, compaction or queued message is left.
    async fn work(&mut self) -> Outcome {
        let session = self.session.clone();
        let messages = std::mem::take(&mut self.messages);
        session.forget_failure();
        session.announce_guard().await;
        let mut outcome = if self.resumes {
            ended(session.0.agent.resume_run().await)
        } else {
            ended(session.0.agent.prompt_messages(messages).await)
        };
        // A suspended run has calls without results, which nothing may come in between.
        while outcome != Outcome::Suspended {
            let is_limited = matches!(outcome, Outcome::Limit { .. } | Outcome::Repetition { .. });
            let next = if is_limited { Next::Settle } else { session.after_run().await };
            match next {
                Next::Continue => {}
                Next::Settle if session.before_settle(&outcome).await && !is_limited => {}
                Next::Settle => break,
            }
            if let Some(limit) = session.limit_reached() {
                return Outcome::Limit { limit };
            }
            // Model, level and tools may have changed during a pause.
            session.configure_run();
            outcome = ended(session.0.agent.continue_run().await);
        }
        match (&outcome, self.budget.overdue()) {
            // A pause before a retry, or a summary, was cut short.
            (Outcome::Failed { .. }, Some(limit)) => Outcome::Limit { limit },
            _ => outcome,
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.session.0.warmer.run_ended(self.session.settings().cache_warming);
        self.session.0.meter.end();
        self.session.0.activity.end();
    }
}

fn ended(result: Result<Outcome, pi_agent::AgentError>) -> Outcome {
    result.unwrap_or_else(|error| Outcome::Failed { error: error.to_string() })
}

impl AgentSession {
    /// Emits and records the restrictions of the session, once, before its first run.
    async fn announce_guard(&self) {
        let Some(status) = self.0.guard.as_ref().and_then(|guard| guard.status()) else { return };
        if std::mem::replace(&mut *lock(&self.0.guard_announced), true) {
            return;
        }
        let data = serde_json::to_value(&status).ok();
        self.emit(SessionEvent::Guard { status: Arc::new(status) }).await;
        let recorded: Result<String, SessionError> = self.log().append_custom(GUARD_ENTRY, data);
        if let Err(error) = recorded {
            self.warn(format!("The restrictions of this session could not be recorded: {error}"));
        }
    }

    /// Aborts the run, a pause before a retry and a compaction, and waits until the session is
    /// idle. Queued messages stay queued.
    pub async fn abort(&self) {
        self.request_abort();
        self.wait_for_idle().await;
    }

    /// Aborts like [`Self::abort`], but does not wait. A listener may call this.
    pub fn request_abort(&self) {
        self.0.activity.request_abort();
        self.0.agent.abort();
    }

    /// Returns true if the last answer was aborted, or an abort came between answers.
    fn was_aborted(&self) -> bool {
        let messages = self.messages();
        let aborted = last_answer(messages.iter())
            .is_some_and(|answer| answer.stop_reason == StopReason::Aborted);
        aborted || self.0.activity.is_abort_requested()
    }

    /// Retries, compacts, or does nothing.
    async fn after_run(&self) -> Next {
        if self.flush_bash().is_err() || self.0.activity.is_abort_requested() {
            return Next::Settle;
        }
        if self.retry_after_failure().await || self.fall_back_after_failure().await {
            return Next::Continue;
        }
        let retry = self.compact_if_needed(CheckTime::AfterRun).await;
        if self.0.activity.is_abort_requested() {
            return Next::Settle;
        }
        if retry || self.can_deliver() { Next::Continue } else { Next::Settle }
    }

    /// Returns true if messages were queued after the loop ended and can be delivered.
    fn can_deliver(&self) -> bool {
        let messages = self.messages();
        let failed =
            last_answer(messages.iter()).is_some_and(|answer| answer.stop_reason.is_failure());
        !failed && self.0.agent.has_queued()
    }

    /// Asks extensions before the session settles. Returns true if the run continues.
    async fn before_settle(&self, outcome: &Outcome) -> bool {
        if !self.is_answered(QuestionKind::BeforeSettle) {
            return false;
        }
        let is_final = matches!(outcome, Outcome::Limit { .. } | Outcome::Repetition { .. });
        let outcome = match outcome {
            Outcome::Aborted => RunOutcome::Aborted,
            Outcome::Failed { .. } => RunOutcome::Error,
            _ => RunOutcome::Completed,
        };
        let messages = self.messages();
        let mut state = BoundaryState::new(outcome, messages.clone());
        state.message = last_answer(messages.iter()).cloned();
        let boundary = self.ask(BeforeSettle(state)).await.answer.unwrap_or_default();
        self.append_drafts(boundary.entries.unwrap_or_default()).await;
        let answered = self.messages().last().is_none_or(|last| last.as_assistant().is_some());
        let possible = !is_final && (!answered || self.0.agent.has_queued());
        boundary.continues == Some(true) && possible && !self.0.activity.is_abort_requested()
    }

    /// Appends entries that extensions proposed.
    pub(super) async fn append_drafts(&self, drafts: Vec<EntryBody>) {
        let mut changed = false;
        for draft in drafts {
            let appended = match draft {
                EntryBody::Custom { custom_type, data } => {
                    self.log().append_custom(&custom_type, data)
                }
                EntryBody::CustomMessage(message) => {
                    changed = true;
                    self.log().append_custom_message(*message)
                }
                EntryBody::ContextEdit(edit) => {
                    changed = true;
                    self.sync().edited = true;
                    let content = edit.replacement.map(|replacement| replacement.content);
                    self.log().append_context_edit(&edit.target_id, content)
                }
                EntryBody::Compaction(compaction) => {
                    changed = true;
                    let appended = self.log().append_compaction(*compaction);
                    if appended.is_ok() {
                        self.sync().compacted(pi_protocol::now_ms());
                    }
                    appended
                }
                // Other kinds are refused when the answer is merged.
                _ => continue,
            };
            let emitted = match appended {
                Ok(id) => self.entry_appended(&id).await.map(drop),
                Err(error) => Err(error),
            };
            if let Err(error) = emitted {
                self.notify_error(format!("An entry of an extension was not appended: {error}"));
            }
        }
        if changed && let Err(error) = self.refresh() {
            self.notify_error(format!("The session cannot be read: {error}"));
        }
    }
}
