//! Retries of a failed request.
//!
//! The failed attempt stays in the log and leaves the context by an edit, so that the model does
//! not read it.

use std::time::Duration;

use pi_ai::{is_context_overflow, is_retryable};
use pi_protocol::{AssistantMessage, CancelToken, Model};
use pi_session::SessionError;

use super::last_answer;
use super::{AgentSession, SessionEvent};

impl AgentSession {
    /// Returns true if the last answer failed, and attempts or successors of the model are left.
    pub(super) fn will_retry(&self) -> bool {
        if self.may_fall_back() {
            return true;
        }
        let messages = self.messages();
        let retry = self.settings().retry;
        let attempt = self.0.activity.run(|run| run.retry_attempt);
        let model = self.effective_model();
        !self.0.activity.is_abort_requested()
            && retry.enabled
            && attempt < retry.max_retries
            && last_answer(messages.iter())
                .is_some_and(|answer| is_transient(answer, model.as_deref()))
    }

    /// Waits and omits the failed attempt from the context. Returns true if the request is to be
    /// made again.
    pub(super) async fn retry_after_failure(&self) -> bool {
        let messages = self.messages();
        let Some(answer) = last_answer(messages.iter()).cloned() else { return false };
        let settings = self.settings().retry;
        let enabled = settings.enabled && settings.max_retries > 0;
        if !enabled || !is_transient(&answer, self.effective_model().as_deref()) {
            return false;
        }
        if self.limit_reached().is_some() {
            // The run ends there, without a pause.
            return true;
        }
        let error = answer.error_message.clone().unwrap_or_else(|| "Unknown error".to_owned());
        let attempt = self.0.activity.run(|run| {
            run.retry_attempt += 1;
            run.retry_attempt
        });
        if attempt > settings.max_retries {
            self.give_up(attempt - 1, error).await;
            return false;
        }
        let doublings = (attempt - 1).min(31);
        let delay_ms =
            settings.base_delay_ms.saturating_mul(1 << doublings).min(settings.max_delay_ms);
        self.emit(SessionEvent::AutoRetryStart {
            attempt,
            max_attempts: settings.max_retries,
            delay_ms,
            error_message: error,
        })
        .await;
        let omitted = self.omit_last_turn().await;
        let cancelled = self.retry_pause(Duration::from_millis(delay_ms)).await;
        let final_error = match omitted {
            _ if cancelled => "Retry cancelled".to_owned(),
            Err(error) => error.to_string(),
            Ok(()) => {
                self.retries(&answer);
                return true;
            }
        };
        self.give_up(attempt, final_error).await;
        false
    }

    /// Waits before a retry. Returns true if the pause was cancelled.
    async fn retry_pause(&self, delay: Duration) -> bool {
        let pause = CancelToken::new();
        self.0.activity.run(|run| run.retry_pause = Some(pause.clone()));
        // An abort may have come between the failure and the pause.
        if self.0.activity.is_abort_requested() {
            pause.cancel();
        }
        let cancelled = tokio::time::timeout(delay, pause.cancelled()).await.is_ok();
        self.0.activity.run(|run| run.retry_pause = None);
        cancelled
    }

    async fn give_up(&self, attempt: u32, final_error: String) {
        self.0.activity.run(|run| run.retry_attempt = 0);
        let final_error = Some(final_error);
        self.emit(SessionEvent::AutoRetryEnd { success: false, attempt, final_error }).await;
    }

    /// Omits the last answer and the results of its calls from the context.
    pub(super) async fn omit_last_turn(&self) -> Result<(), SessionError> {
        let entries = std::mem::take(&mut self.sync().last_turn_entries);
        self.omit(&entries).await
    }

    /// Omits entries from the context.
    pub(super) async fn omit(&self, entries: &[String]) -> Result<(), SessionError> {
        for id in entries {
            let edit = self.log().append_context_edit(id, None)?;
            self.entry_appended(&edit).await?;
        }
        self.sync().edited = true;
        self.refresh()
    }

    /// Ends the retries after an answer.
    pub(super) async fn retry_succeeded(&self) {
        let attempt = self.0.activity.run(|run| std::mem::take(&mut run.retry_attempt));
        if attempt > 0 {
            self.emit(SessionEvent::AutoRetryEnd { success: true, attempt, final_error: None })
                .await;
        }
    }

    /// Cancels a pause before a retry.
    pub fn abort_retry(&self) {
        self.0.activity.cancel_retry();
    }

    /// Returns true during a pause before a retry.
    pub fn is_retrying(&self) -> bool {
        self.0.activity.run(|run| run.retry_pause.is_some())
    }
}

/// Returns true if an answer failed with an error that may be gone with the next attempt.
fn is_transient(answer: &AssistantMessage, model: Option<&Model>) -> bool {
    let window = model.map(|model| model.context_window).filter(|window| *window > 0);
    is_retryable(answer) && !is_context_overflow(answer, window)
}
