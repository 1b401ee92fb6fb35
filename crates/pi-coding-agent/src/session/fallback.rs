//! Continuing a run with another model, if the present one is overloaded, out of quota or down.
//!
//! The switch happens between turns: a failed answer leaves the context as in a retry, and the
//! successor answers the same conversation. It stays the model of the session.

use std::sync::Arc;

use pi_ai::{FailureKind, ProviderFailure, is_context_overflow, is_retryable};
use pi_models::{ModelRequest, RequestedModel};
use pi_protocol::{AssistantMessage, Model, ModelCost, StopReason};
use pi_session::compaction::CheckTime;
use serde_json::json;

use super::last_answer;
use super::{AgentSession, FallbackReason, ModelKey, ModelSource, SessionEvent};

/// Type of the entry that records the reason of a switch. The `model_change` entry follows.
const ENTRY: &str = "pi.model-fallback";

impl AgentSession {
    /// Returns true if the last answer failed for a reason that the model's successors may not
    /// share, and there are successors.
    pub(super) fn may_fall_back(&self) -> bool {
        let Some(model) = self.model() else { return false };
        let messages = self.messages();
        let failed =
            last_answer(messages.iter()).is_some_and(|answer| reason(answer, &model).is_some());
        failed
            && !self.0.activity.is_abort_requested()
            && (self.0.activity.run(|run| run.chain.has_more())
                || !self.successors(&model).is_empty())
    }

    /// Switches to a successor of the model after its last failure. Returns true if the request is
    /// to be made again.
    pub(super) async fn fall_back_after_failure(&self) -> bool {
        let Some(model) = self.model() else { return false };
        let messages = self.messages();
        let Some(answer) = last_answer(messages.iter()).cloned() else { return false };
        let Some(reason) = reason(&answer, &model) else { return false };
        let successors = self.successors(&model);
        self.0.activity.run(|run| run.chain.failed(&model, successors));
        while let Some(text) = self.0.activity.run(|run| run.chain.next_name()) {
            let Some(next) = self.successor(&text).await else { continue };
            if !self.0.activity.run(|run| run.chain.is_new(&next.model)) {
                continue;
            }
            match self.continue_with(&model, next, reason, &answer).await {
                Ok(()) => return true,
                Err(why) => self.warn(format!("{text} cannot continue the run: {why}")),
            }
        }
        false
    }

    /// Returns the successors of a model.
    pub(super) fn successors(&self, model: &Model) -> Vec<String> {
        let own = self.0.models.as_ref().map(|models| models.fallbacks(model));
        self.settings().fallbacks.of(model, &own.unwrap_or_default())
    }

    /// Finds a successor; `None` with a warning if it cannot be used.
    pub(super) async fn successor(&self, text: &str) -> Option<RequestedModel> {
        let models = self.0.models.as_ref()?;
        let request = ModelRequest { model: Some(text), ..ModelRequest::default() };
        let problem = match models.request(&request).await {
            Ok(Some(found)) => match models.check_usable(&found.model) {
                Ok(()) => return Some(found),
                Err(why) => why.to_string(),
            },
            Ok(None) => "the name is empty".to_owned(),
            Err(error) => error.to_string(),
        };
        self.warn(format!("The successor {text} is skipped: {problem}"));
        None
    }

    /// Omits the failed answer, records the reason and switches the model.
    async fn continue_with(
        &self,
        failed: &Model,
        next: RequestedModel,
        reason: FallbackReason,
        answer: &AssistantMessage,
    ) -> Result<(), String> {
        let RequestedModel { model, level, .. } = next;
        let text = |error: pi_session::SessionError| error.to_string();
        self.omit_last_turn().await.map_err(text)?;
        let (from, to) = (ModelKey::from(failed), ModelKey::from(&*model));
        let error_message = answer.error_message.clone().unwrap_or_default();
        let data = json!({ "from": from, "to": to, "reason": reason, "error": error_message });
        let entry = self.log().append_custom(ENTRY, Some(data)).map_err(text)?;
        self.entry_appended(&entry).await.map_err(text)?;
        self.switch_model(Arc::clone(&model), level, ModelSource::Fallback)
            .await
            .map_err(|error| error.to_string())?;
        let message = message(failed, &model, reason);
        self.emit(SessionEvent::ModelFallback { from, to, reason, error_message, message }).await;
        self.0.activity.run(|run| run.retry_attempt = 0);
        // The successor may have a smaller context window.
        self.compact_if_needed(CheckTime::BeforePrompt).await;
        Ok(())
    }
}

/// Returns the reason why another model may answer; `None` if the answer has no such failure.
pub(super) fn reason(answer: &AssistantMessage, model: &Model) -> Option<FallbackReason> {
    let window = Some(model.context_window).filter(|window| *window > 0);
    if answer.stop_reason != StopReason::Error || is_context_overflow(answer, window) {
        return None;
    }
    let error = answer.error_message.as_deref().unwrap_or_default();
    match ProviderFailure::of(error).kind {
        FailureKind::NoCredit | FailureKind::Quota | FailureKind::PlanLimit => {
            Some(FallbackReason::Quota)
        }
        FailureKind::RateLimit
        | FailureKind::Overloaded
        | FailureKind::ServerError
        | FailureKind::UnknownHost
        | FailureKind::ConnectionRefused
        | FailureKind::Connection
        | FailureKind::TimedOut
        | FailureKind::EndedEarly => Some(FallbackReason::Outage),
        _ => is_retryable(answer).then_some(FallbackReason::Outage),
    }
}

/// Returns the message about a switch, with the prices if they differ.
fn message(from: &Model, to: &Model, reason: FallbackReason) -> String {
    let why = match reason {
        FallbackReason::Outage => "is not available",
        FallbackReason::Quota => "has no quota left",
    };
    let (from_name, to_name) = (ModelKey::from(from), ModelKey::from(to));
    let prices = prices(&from.cost, &to.cost).map(|prices| format!(" ({prices})"));
    let prices = prices.unwrap_or_default();
    format!("{from_name} {why}; the run continues with {to_name}{prices}")
}

fn prices(from: &ModelCost, to: &ModelCost) -> Option<String> {
    let kinds = [("input", from.input, to.input), ("output", from.output, to.output)];
    let changed: Vec<String> = kinds
        .into_iter()
        .filter(|(_, from, to)| from != to)
        .map(|(kind, from, to)| format!("{kind} ${to} instead of ${from}"))
        .collect();
    (!changed.is_empty()).then(|| format!("{} per million tokens", changed.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failures_of_the_provider_have_a_successor() {
        let model = Model { context_window: 1000, ..Model::default() };
        let outage = Some(FallbackReason::Outage);
        let quota = Some(FallbackReason::Quota);
        for (error, expected) in [
            ("529: {\"type\":\"overloaded_error\"}", outage),
            ("503: Service Unavailable", outage),
            ("429: rate limit reached", outage),
            ("Connection error: Connection refused (127.0.0.1:9)", outage),
            ("Request timed out: no answer within 600 s", outage),
            ("429: insufficient_quota", quota),
            ("402: Payment Required", quota),
            ("400: Your credit balance is too low", quota),
            ("You have hit your ChatGPT usage limit (plus plan).", quota),
            ("401: invalid x-api-key", None),
            ("404: model not found", None),
            ("400: messages: at least one message is required", None),
            ("400: prompt is too long: 250000 tokens > 200000 maximum", None),
            ("The model refused to complete the request", None),
        ] {
            let answer = AssistantMessage {
                stop_reason: StopReason::Error,
                error_message: Some(error.to_owned()),
                ..AssistantMessage::pending(&model)
            };
            assert_eq!(reason(&answer, &model), expected, "{error}");
        }
    }

    #[test]
    fn the_message_names_prices_that_differ() {
        let model = |id: &str, input: f64| {
            let cost = ModelCost { input, output: 2.0 * input, ..ModelCost::default() };
            Model { provider: "p".to_owned(), id: id.to_owned(), cost, ..Model::default() }
        };
        assert_eq!(
            message(&model("a", 3.0), &model("b", 1.25), FallbackReason::Quota),
            "p/a has no quota left; the run continues with p/b (input $1.25 instead of $3, \
             output $2.5 instead of $6 per million tokens)"
        );
        assert_eq!(
            message(&model("a", 3.0), &model("b", 3.0), FallbackReason::Outage),
            "p/a is not available; the run continues with p/b"
        );
    }
}
