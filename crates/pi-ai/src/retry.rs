//! Retries of a whole turn: classification of failures, and pauses.
//!
//! Retries inside one request, before its answer begins, belong to the driver (`http`). Callers
//! check [`is_context_overflow`](crate::is_context_overflow) first.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use pi_protocol::{AssistantMessage, CancelToken, StopReason};
use regex_lite::Regex;

use crate::overflow::compile;

/// Errors of account limits, which do not end within a run.
const FINAL: &[&str] = &[
    "GoUsageLimitError",
    "FreeUsageLimitError",
    "Monthly usage limit reached",
    "available balance",
    "insufficient_quota",
    "out of budget",
    "quota exceeded",
    "billing",
    "subscription_sharing_usage_limit_exceeded",
    "subscription_sharing_workplace_individual_usage_limit_exceeded",
    r#""code": ?"?1308([^0-9]|$)"#,
];

const RETRYABLE: &[&str] = &[
    "overloaded",
    "server_busy",
    "servers are currently busy",
    "currently experiencing high demand",
    "model is at capacity",
    "rate.?limit",
    "too many requests",
    // Status codes, but not digits inside a longer run such as a request id.
    "(^|[^a-z0-9])(429|500|502|503|504|520|524)($|[^a-z0-9])",
    "service.?(is )?(temporarily )?unavailable",
    "server.?error",
    "internal.?error",
    "provider returned (an )?error",
    "exceeded request buffer limit while retrying upstream",
    "unable to forward upstream",
    "upstream request failed",
    "upstream_stream_read_error",
    "stream was interrupted",
    "http/?2 stream failed",
    "(network|connection).?error",
    "connection.?(refused|lost)",
    "other side closed",
    "fetch failed",
    "request to .* failed, reason:",
    "getaddrinfo|ENOTFOUND|EAI_AGAIN",
    "upstream.?connect",
    "reset before headers",
    "socket hang up",
    "socket connection was closed",
    "timed? out",
    "timeout",
    "terminated",
    "websocket.?(closed|error)",
    "ended without",
    "stream ended before message_stop",
    "stream ended before a terminal response event",
    "http2 request did not get a response",
    "stream disconnected before completion",
    "pending stream has been canceled",
    "retry delay",
    "you can retry your request",
    "try your request again",
    "please retry your request",
    "ResourceExhausted",
    "subscription_sharing_usage_unavailable",
    "subscription_sharing_user_unavailable",
];

static FINAL_SET: LazyLock<Vec<Regex>> = LazyLock::new(|| compile(FINAL));
static RETRYABLE_SET: LazyLock<Vec<Regex>> = LazyLock::new(|| compile(RETRYABLE));

/// Returns true if the answer failed with a transient error.
pub fn is_retryable(message: &AssistantMessage) -> bool {
    let Some(error) = &message.error_message else { return false };
    let any = |set: &[Regex]| set.iter().any(|pattern| pattern.is_match(error));
    message.stop_reason == StopReason::Error && !any(&FINAL_SET) && any(&RETRYABLE_SET)
}

/// Number of retries of a turn, and the pauses between them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// Largest number of retries after the first attempt.
    pub max_retries: u32,
    /// The first pause; each further pause is twice as long.
    pub base_delay: Duration,
    /// The longest pause.
    pub max_delay: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_retries: 3,
            base_delay: Duration::from_secs(2),
            max_delay: Duration::from_secs(60),
        }
    }
}

impl RetryPolicy {
    /// Returns the pause before a retry, counted from 1.
    pub fn delay(&self, attempt: u32) -> Duration {
        let doublings = attempt.saturating_sub(1).min(31);
        self.base_delay.saturating_mul(1 << doublings).min(self.max_delay)
    }
}

/// An event of the retries of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetryEvent {
    /// A pause begins.
    Scheduled {
        /// Number of the next retry, counted from 1.
        attempt: u32,
        /// Largest number of retries.
        max_attempts: u32,
        /// Length of the pause.
        delay: Duration,
        /// Error of the last attempt.
        error: String,
    },
    /// The pause is over.
    AttemptStart {
        /// Number of the retry that begins.
        attempt: u32,
    },
    /// The retries are over. Reported once, and only if there was a retry.
    Finished {
        /// Number of the last retry.
        attempt: u32,
        /// Result of the last retry.
        outcome: RetryOutcome,
    },
}

/// The result of retrying a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RetryOutcome {
    /// The last answer is complete.
    Succeeded,
    /// The last answer failed with this error.
    Failed(String),
    /// The turn was cancelled.
    Aborted,
}

/// Produces an answer, and retries while it fails with a transient error.
///
/// An aborted answer is final. Cancellation during a pause returns the last answer as aborted.
pub async fn retry_turn<F>(
    mut produce: impl FnMut() -> F,
    policy: &RetryPolicy,
    cancel: &CancelToken,
    mut notify: impl FnMut(RetryEvent),
) -> Arc<AssistantMessage>
where
    F: Future<Output = Arc<AssistantMessage>>,
{
    let mut attempt = 0;
    loop {
        let message = produce().await;
        if !is_retryable(&message) || attempt >= policy.max_retries {
            finished(attempt, &message, &mut notify);
            return message;
        }
        attempt += 1;
        let delay = policy.delay(attempt);
        notify(RetryEvent::Scheduled {
            attempt,
            max_attempts: policy.max_retries,
            delay,
            error: message.error_message.clone().unwrap_or_default(),
        });
        if tokio::time::timeout(delay, cancel.cancelled()).await.is_ok() {
            let aborted = AssistantMessage {
                stop_reason: StopReason::Aborted,
                error_message: None,
                ..(*message).clone()
            };
            finished(attempt, &aborted, &mut notify);
            return Arc::new(aborted);
        }
        notify(RetryEvent::AttemptStart { attempt });
    }
}

fn finished(attempt: u32, message: &AssistantMessage, notify: &mut impl FnMut(RetryEvent)) {
    if attempt > 0 {
        let outcome = match message.stop_reason {
            StopReason::Error => {
                RetryOutcome::Failed(message.error_message.clone().unwrap_or_default())
            }
            StopReason::Aborted => RetryOutcome::Aborted,
            _ => RetryOutcome::Succeeded,
        };
        notify(RetryEvent::Finished { attempt, outcome });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_patterns_compile() {
        assert_eq!(FINAL_SET.len(), FINAL.len());
        assert_eq!(RETRYABLE_SET.len(), RETRYABLE.len());
    }

    fn answer(stop_reason: StopReason, error: Option<&str>) -> Arc<AssistantMessage> {
        let error_message = error.map(str::to_owned);
        Arc::new(AssistantMessage { stop_reason, error_message, ..AssistantMessage::default() })
    }

    async fn run(
        answers: Vec<Arc<AssistantMessage>>,
        cancel: &CancelToken,
    ) -> (Arc<AssistantMessage>, Vec<RetryEvent>) {
        let policy = RetryPolicy { max_retries: 2, ..RetryPolicy::default() };
        let mut queue = answers.into_iter();
        let mut events = Vec::new();
        let produce = || std::future::ready(queue.next().unwrap());
        let last = retry_turn(produce, &policy, cancel, |event| events.push(event)).await;
        (last, events)
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_is_retried_until_it_succeeds_or_no_retries_are_left() {
        let overloaded = || answer(StopReason::Error, Some("overloaded_error"));
        let fine = answer(StopReason::Stop, None);
        let started = tokio::time::Instant::now();
        let (last, events) =
            run(vec![overloaded(), overloaded(), fine.clone()], &CancelToken::new()).await;
        assert_eq!(last, fine);
        assert_eq!(started.elapsed(), Duration::from_secs(2 + 4));
        assert_eq!(events.len(), 5);
        let end = RetryEvent::Finished { attempt: 2, outcome: RetryOutcome::Succeeded };
        assert_eq!(events.last(), Some(&end));

        let (last, events) =
            run(vec![overloaded(), overloaded(), overloaded()], &CancelToken::new()).await;
        assert_eq!(last, overloaded());
        let outcome = RetryOutcome::Failed("overloaded_error".to_owned());
        assert_eq!(events.last(), Some(&RetryEvent::Finished { attempt: 2, outcome }));
    }

    #[tokio::test(start_paused = true)]
    async fn final_errors_and_aborts_are_not_retried() {
        for once in [
            answer(StopReason::Error, Some("429 insufficient_quota")),
            answer(StopReason::Aborted, Some("overloaded")),
            answer(StopReason::Length, None),
        ] {
            let (last, events) = run(vec![once.clone()], &CancelToken::new()).await;
            assert_eq!((last, events), (once, Vec::new()));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn cancellation_during_a_pause_returns_the_answer_as_aborted() {
        let cancel = CancelToken::new();
        cancel.cancel();
        let (last, events) = run(vec![answer(StopReason::Error, Some("timeout"))], &cancel).await;
        assert_eq!((&last.stop_reason, &last.error_message), (&StopReason::Aborted, &None));
        assert_eq!(events.len(), 2);
    }
}
