//! Making a failed request again.
//!
//! The failed attempt stays in the file and leaves the context by an edit, so that the model does
//! not read of it.

use std::time::Duration;

use pi_ai::{is_context_overflow, is_retryable};
use pi_protocol::{AssistantMessage, CancelToken};

use super::event::last_answer;
use super::{AgentSession, SessionNews};

impl AgentSession {
    /// The last answer failed in a way that may pass, and there are tries left.
    pub(super) fn will_retry(&self) -> bool {
        let messages = self.messages();
        let state = self.state();
        let retry = &state.settings.retry;
        !state.abort_requested
            && retry.enabled
            && state.retry_attempt < retry.max_retries
            && last_answer(messages.iter())
                .is_some_and(|answer| self.may_pass(answer, state.model.as_deref()))
    }

    fn may_pass(&self, answer: &AssistantMessage, model: Option<&pi_protocol::Model>) -> bool {
        let window = model.map(|model| model.context_window).filter(|window| *window > 0);
        is_retryable(answer) && !is_context_overflow(answer, window)
    }

    /// Waits and hides the failed attempt, if it is worth trying again.
    pub(super) async fn retry_after_failure(&self) -> bool {
        let messages = self.messages();
        let Some(answer) = last_answer(messages.iter()).cloned() else { return false };
        let model = self.model();
        if !self.may_pass(&answer, model.as_deref()) {
            return false;
        }
        let error = answer.error_message.clone().unwrap_or_else(|| "Unknown error".to_owned());
        let (attempt, settings) = {
            let mut state = self.state();
            let settings = state.settings.retry.clone();
            if !settings.enabled {
                return false;
            }
            state.retry_attempt += 1;
            (state.retry_attempt, settings)
        };
        if attempt > settings.max_retries {
            self.state().retry_attempt = 0;
            let attempt = attempt - 1;
            let final_error = Some(error.as_str());
            self.news(SessionNews::AutoRetryEnd { success: false, attempt, final_error }).await;
            return false;
        }
        let doublings = (attempt - 1).min(31);
        let delay_ms =
            settings.base_delay_ms.saturating_mul(1 << doublings).min(settings.max_delay_ms);
        self.news(SessionNews::AutoRetryStart {
            attempt,
            max_attempts: settings.max_retries,
            delay_ms,
            error_message: &error,
        })
        .await;
        let hidden = self.omit_last_turn().await;
        let pause = CancelToken::new();
        self.state().retry_pause = Some(pause.clone());
        let cancelled =
            tokio::time::timeout(Duration::from_millis(delay_ms), pause.cancelled()).await.is_ok();
        self.state().retry_pause = None;
        let final_error = match hidden {
            _ if cancelled => "Retry cancelled".to_owned(),
            Err(error) => error.to_string(),
            Ok(()) => return true,
        };
        self.state().retry_attempt = 0;
        let final_error = Some(final_error.as_str());
        self.news(SessionNews::AutoRetryEnd { success: false, attempt, final_error }).await;
        false
    }

    /// Takes the last answer and the results of its calls out of the context.
    pub(super) async fn omit_last_turn(&self) -> Result<(), pi_session::SessionError> {
        let entries = std::mem::take(&mut self.state().last_turn_entries);
        self.omit(&entries).await
    }

    /// Takes entries out of the context.
    pub(super) async fn omit(&self, entries: &[String]) -> Result<(), pi_session::SessionError> {
        for id in entries {
            let edit = self.entries().append_context_edit(id, None)?;
            self.appended(&edit).await?;
        }
        self.state().edited = true;
        self.refresh()
    }

    /// An answer came: retries are over.
    pub(super) async fn retry_succeeded(&self) {
        let attempt = std::mem::take(&mut self.state().retry_attempt);
        if attempt > 0 {
            self.news(SessionNews::AutoRetryEnd { success: true, attempt, final_error: None })
                .await;
        }
    }

    /// Ends a pause before a retry.
    pub fn abort_retry(&self) {
        let pause = self.state().retry_pause.clone();
        if let Some(pause) = pause {
            pause.cancel();
        }
    }

    /// A pause before a retry is going on.
    pub fn is_retrying(&self) -> bool {
        self.state().retry_pause.is_some()
    }
}
