//! Summaries are tried again like turns are: a provider that asks another one until it answers.
//!
//! The stream it returns has the answer in one piece, which is all that summaries need.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use pi_ai::retry::{RetryEvent, RetryPolicy, retry_turn};
use pi_protocol::{
    AssistantMessage, AssistantStream, CancelToken, MessageBuilder, Provider, Request, Source,
    StopReason, complete,
};
use tokio::sync::mpsc;

use super::{AgentSession, CompactionReason, SessionNews};

/// Asks the session's provider, and tells the session of further tries.
pub(super) struct Patient {
    session: AgentSession,
    /// Why there is a compaction; `None` for the summary of a branch.
    reason: Option<CompactionReason>,
}

impl AgentSession {
    /// Who is asked for summaries.
    pub(super) fn patient(&self, reason: Option<CompactionReason>) -> Patient {
        Patient { session: self.clone(), reason }
    }
}

impl Provider for Patient {
    fn stream(&self, request: Request, cancel: CancelToken) -> AssistantStream {
        let model = Arc::clone(&request.model);
        let answer = Box::pin(answer(self.session.clone(), self.reason, request, cancel));
        // The tries end by themselves when they are cancelled, and tell of it.
        AssistantStream::new(&model, Whole(answer), CancelToken::new())
    }
}

async fn answer(
    session: AgentSession,
    reason: Option<CompactionReason>,
    request: Request,
    cancel: CancelToken,
) -> Arc<AssistantMessage> {
    let settings = session.state().settings.retry.clone();
    let policy = RetryPolicy {
        max_retries: if settings.enabled { settings.max_retries } else { 0 },
        base_delay: Duration::from_millis(settings.base_delay_ms),
        max_delay: Duration::from_millis(settings.max_delay_ms),
    };
    let (tell, mut told) = mpsc::unbounded_channel();
    let provider = &*session.0.provider;
    let produce = || complete(provider, request.clone(), cancel.clone());
    // The receiver is there until the last try is over.
    let tries = retry_turn(produce, &policy, &cancel, move |event| drop(tell.send(event)));
    let telling = async {
        while let Some(event) = told.recv().await {
            session.news(news(&event, reason)).await;
        }
    };
    tokio::join!(tries, telling).0
}

fn news(event: &RetryEvent, reason: Option<CompactionReason>) -> SessionNews<'_> {
    match event {
        RetryEvent::Scheduled { attempt, max_attempts, delay, error } => {
            SessionNews::SummarizationRetryScheduled {
                attempt: *attempt,
                max_attempts: *max_attempts,
                delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
                error_message: error,
            }
        }
        RetryEvent::AttemptStart { .. } => SessionNews::SummarizationRetryAttemptStart {
            source: if reason.is_some() { "compaction" } else { "branchSummary" },
            reason,
        },
        RetryEvent::Finished { .. } => SessionNews::SummarizationRetryFinished,
    }
}

/// An answer that comes in one piece.
struct Whole(Pin<Box<dyn Future<Output = Arc<AssistantMessage>> + Send>>);

impl Source for Whole {
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
