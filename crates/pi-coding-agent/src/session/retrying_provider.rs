//! A provider that retries transient failures, for summaries.
//!
//! Its stream has the answer in one piece, which is all that summaries need.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use pi_ai::retry::{RetryEvent, RetryPolicy, retry_turn};
use pi_models::Chain;
use pi_protocol::{
    AssistantMessage, AssistantStream, CancelToken, MessageBuilder, Model, Provider, Request,
    Source, StopReason, complete,
};
use tokio::sync::mpsc;

use super::{AgentSession, CompactionReason, SessionEvent, SummarySource, fallback};

/// Calls the session's provider and emits an event for each retry.
pub(super) struct RetryingProvider {
    session: AgentSession,
    /// Reason of the compaction; `None` for the summary of a branch.
    reason: Option<CompactionReason>,
}

impl AgentSession {
    /// Returns the provider of summaries.
    pub(super) fn retrying_provider(&self, reason: Option<CompactionReason>) -> RetryingProvider {
        RetryingProvider { session: self.clone(), reason }
    }
}

impl Provider for RetryingProvider {
    fn stream(&self, request: Request, cancel: CancelToken) -> AssistantStream {
        let model = Arc::clone(&request.model);
        let answer = Box::pin(answer(self.session.clone(), self.reason, request, cancel));
        // The attempts end when `cancel` is cancelled; the stream must report that itself.
        AssistantStream::new(&model, WholeAnswer(answer), CancelToken::new())
    }
}

async fn answer(
    session: AgentSession,
    reason: Option<CompactionReason>,
    request: Request,
    cancel: CancelToken,
) -> Arc<AssistantMessage> {
    let mut chain = Chain::default();
    let mut request = request;
    loop {
        let answer = retried(&session, reason, &request, &cancel).await;
        if cancel.is_cancelled() || fallback::reason(&answer, &request.model).is_none() {
            return answer;
        }
        chain.failed(&request.model, session.successors(&request.model));
        let Some(next) = successor(&session, &mut chain).await else { return answer };
        session.warn(format!(
            "The summary is written by {}/{}: {}/{} is not available",
            next.provider, next.id, request.model.provider, request.model.id
        ));
        request.model = next;
    }
}

/// Returns the next model that may write the summary.
async fn successor(session: &AgentSession, chain: &mut Chain) -> Option<Arc<Model>> {
    while let Some(text) = chain.next_name() {
        if let Some(found) = session.successor(&text).await
            && chain.is_new(&found.model)
        {
            return Some(found.model);
        }
    }
    None
}

/// Answers a request, with the retries of the settings.
async fn retried(
    session: &AgentSession,
    reason: Option<CompactionReason>,
    request: &Request,
    cancel: &CancelToken,
) -> Arc<AssistantMessage> {
    let settings = session.settings().retry;
    let mut policy = RetryPolicy::default();
    policy.max_retries = if settings.enabled { settings.max_retries } else { 0 };
    policy.base_delay = Duration::from_millis(settings.base_delay_ms);
    policy.max_delay = Duration::from_millis(settings.max_delay_ms);
    let (report, mut reports) = mpsc::unbounded_channel();
    let provider = &*session.0.provider;
    let produce = || complete(provider, request.clone(), cancel.clone());
    // Unbounded, since a retry policy bounds the number of reports.
    let attempts = retry_turn(produce, &policy, cancel, move |event| drop(report.send(event)));
    let emitting = async {
        while let Some(event) = reports.recv().await {
            session.emit(session_event(event, reason)).await;
        }
    };
    tokio::join!(attempts, emitting).0
}

fn session_event(event: RetryEvent, reason: Option<CompactionReason>) -> SessionEvent {
    match event {
        RetryEvent::Scheduled { attempt, max_attempts, delay, error } => {
            SessionEvent::SummarizationRetryScheduled {
                attempt,
                max_attempts,
                delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
                error_message: error,
            }
        }
        RetryEvent::AttemptStart { .. } => SessionEvent::SummarizationRetryAttemptStart {
            source: match reason {
                Some(_) => SummarySource::Compaction,
                None => SummarySource::BranchSummary,
            },
            reason,
        },
        RetryEvent::Finished { .. } => SessionEvent::SummarizationRetryFinished,
    }
}

/// An answer in one piece.
struct WholeAnswer(Pin<Box<dyn Future<Output = Arc<AssistantMessage>> + Send>>);

impl Source for WholeAnswer {
    fn poll(&mut self, cx: &mut Context<'_>, out: &mut MessageBuilder) -> Poll<()> {
        self.0.as_mut().poll(cx).map(|answer| {
            let reason = answer.stop_reason.clone();
            let error = answer.error_message.clone().unwrap_or_default();
            *out.message_mut() = Arc::unwrap_or_clone(answer);
            match reason {
                StopReason::Error | StopReason::Aborted => out.fail(reason, error),
                reason => out.finish(reason),
            }
        })
    }
}
