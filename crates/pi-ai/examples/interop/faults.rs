//! Faults that llmock injects. Afterwards it checks the behavior of the client by its own rules.

use std::time::Duration;

use pi_ai::retry::{RetryPolicy, retry_turn};
use pi_ai::{CancelToken, Message, StopReason, UserBlock, is_context_overflow, is_retryable};
use serde_json::{Value, json};

use crate::conversation::{Conversation, expect_text};
use crate::peer::{Format, Peer};
use crate::{Outcome, admin};

/// Resets llmock and sets `behaviors` for the next requests.
pub(crate) async fn script(peer: &Peer, behaviors: &[Value]) -> Outcome {
    admin::post(&format!("{}/_llmock/reset", peer.url), &json!({})).await?;
    let plan = json!({"behaviors": behaviors});
    admin::post(&format!("{}/_llmock/scenario", peer.url), &plan).await.map(|_| ())
}

/// Checks that llmock received this many requests and has no findings.
async fn verdict(peer: &Peer, attempts: u64) -> Outcome {
    let verdict = admin::get(&format!("{}/_llmock/verdict", peer.url)).await?;
    let clean = verdict["findings"].as_array().is_some_and(Vec::is_empty);
    if clean && verdict["passed"] == true && verdict["attempts"] == attempts {
        return Ok(());
    }
    Err(format!("expected {attempts} attempts and no findings: {verdict}"))
}

fn hello(peer: &Peer, format: &Format) -> Result<Conversation, String> {
    let mut talk = Conversation::new(peer, format)?;
    talk.options.retry.max_retries = 3;
    talk.options.timeouts.idle = Some(Duration::from_millis(800));
    talk.user("Say hello.");
    Ok(talk)
}

fn quick_policy() -> RetryPolicy {
    let mut policy = RetryPolicy::default();
    policy.base_delay = Duration::from_millis(300);
    policy
}

/// Overload, and a rate limit with a pause: retried within the request.
pub(crate) async fn refusals(peer: &Peer, format: &Format) -> Outcome {
    let overloaded = json!({"type": "fail", "status": 529});
    let limited = json!({"type": "fail", "status": 429, "retry_after": 1});
    script(peer, &[overloaded, limited]).await?;
    expect_text(peer, &hello(peer, format)?.ask().await?, "")?;
    verdict(peer, 3).await?;
    // Without retries of its own, the request fails with a retryable error.
    for status in [408, 429, 500, 502, 503, 504, 529] {
        script(peer, &[json!({"type": "fail", "status": status})]).await?;
        let mut talk = hello(peer, format)?;
        talk.options.retry.max_retries = 0;
        let message = talk.attempt().await?;
        if !is_retryable(&message) {
            return Err(format!("{status} is not retryable: {:?}", message.error_message));
        }
    }
    Ok(())
}

/// Streams that end early or stall: the turn is retried.
pub(crate) async fn broken_streams(peer: &Peer, format: &Format) -> Outcome {
    for kind in ["truncate", "disconnect", "stall"] {
        let fault = json!({"type": "stream_fault", "kind": kind, "after_chunks": 2,
            "stall_seconds": 3});
        script(peer, &[fault]).await?;
        let talk = hello(peer, format)?;
        let mut tries = Vec::new();
        let produce =
            || talk.client().complete(talk.model(), talk.context.clone(), talk.options.clone());
        let note = |event| tries.push(event);
        let message = retry_turn(produce, &quick_policy(), &CancelToken::new(), note).await;
        expect_text(peer, &message, "").map_err(|why| format!("{kind}: {why}, {tries:?}"))?;
        verdict(peer, 2).await.map_err(|why| format!("{kind}: {why}, {tries:?}"))?;
    }
    // Invalid JSON is an error that is not retried.
    script(peer, &[json!({"type": "stream_fault", "kind": "malformed", "after_chunks": 2})])
        .await?;
    let message = hello(peer, format)?.attempt().await?;
    match (&message.stop_reason, &message.error_message) {
        (StopReason::Error, Some(error)) if error.contains("Could not read") => Ok(()),
        other => Err(format!("malformed: {other:?}")),
    }
}

/// Errors that a retry cannot resolve are requested once.
pub(crate) async fn final_errors(peer: &Peer, format: &Format) -> Outcome {
    for status in [400, 401, 403, 404, 422] {
        script(peer, &[json!({"type": "fail", "status": status})]).await?;
        let talk = hello(peer, format)?;
        let produce =
            || talk.client().complete(talk.model(), talk.context.clone(), talk.options.clone());
        let message = retry_turn(produce, &quick_policy(), &CancelToken::new(), |_| ()).await;
        let Some(error) = &message.error_message else {
            return Err(format!("{status} is no error: {message:?}"));
        };
        if error.len() < 5 {
            return Err(format!("{status} has only the error {error:?}"));
        }
        verdict(peer, 1).await.map_err(|why| format!("{status}: {why}"))?;
    }
    Ok(())
}

/// Calls that cannot be run are recognized, and can be answered with an error.
pub(crate) async fn broken_calls(peer: &Peer, format: &Format) -> Outcome {
    // Google's arguments are an object in the JSON of the event; llmock cannot break them.
    let kinds: &[&str] = match format.api {
        "google-generative-ai" => &["unknown_tool"],
        _ => &["malformed_arguments", "unknown_tool"],
    };
    for kind in kinds {
        script(peer, &[json!({"type": "tool_fault", "kind": kind})]).await?;
        let mut talk = Conversation::new(peer, format)?.with_tools();
        talk.user("Look up the weather in Oslo.");
        let message = talk.ask().await.map_err(|why| format!("{kind}: {why}"))?;
        let call = message.tool_calls().next().ok_or_else(|| format!("{kind}: no call"))?;
        let recognized = match *kind {
            "unknown_tool" => call.name != "get_weather",
            _ => call.arguments_error.is_some(),
        };
        if !recognized {
            return Err(format!("{kind}: {call:?}"));
        }
        let refusal = vec![UserBlock::text("This call cannot be run.")];
        talk.context.messages.push(Message::tool_result(call, refusal, true));
        talk.ask().await.map_err(|why| format!("after {kind}: {why}"))?;
    }
    Ok(())
}

/// A conversation that exceeds the context window is recognized and not retried. llmock is started
/// with a small window for this.
pub(crate) async fn overflow(peer: &Peer, format: &Format) -> Outcome {
    admin::post(&format!("{}/_llmock/reset", peer.url), &json!({})).await?;
    let mut talk = hello(peer, format)?;
    talk.user(&"far too much of it ".repeat(10_000));
    let message = talk.attempt().await?;
    let error = message.error_message.as_deref().unwrap_or_default();
    if !is_context_overflow(&message, None) {
        return Err(format!("{:?}: {error:?}", message.stop_reason));
    }
    verdict(peer, 1).await
}
