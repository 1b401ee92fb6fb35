//! The faulty behaviors of dsh-llm-mock-server, each with its expected class of outcome.
//!
//! The server plays one behavior per request, in the order of `dsh.txt`, which xtask passes to it
//! at startup.

use std::time::Duration;

use pi_ai::{AssistantBlock, AssistantMessage, StopReason, is_context_overflow, is_retryable};

use crate::conversation::Conversation;
use crate::peer::Peer;
use crate::{Outcome, report};

const BEHAVIORS: &str = include_str!("../../../../xtask/data/interop/dsh.txt");

/// Sends a request for every behavior and checks the outcome.
pub(crate) async fn run(peer: &Peer) -> Result<(), String> {
    let format = peer.formats.first().ok_or("no formats")?;
    for line in BEHAVIORS.lines().filter(|line| !line.starts_with('#')) {
        let (behavior, expected) = line.split_once(' ').ok_or("a line without a class")?;
        let mut talk = Conversation::new(peer, format)?.with_tools();
        talk.options.timeouts.idle = Some(Duration::from_millis(800));
        talk.options.timeouts.first_byte = Some(Duration::from_millis(800));
        talk.user("Say hello.");
        let message = talk.attempt().await?;
        match check(&message, behavior, expected.trim()) {
            Ok(()) => report(format.api, behavior, "ok", ""),
            Err(why) => report(format.api, behavior, "FAILED", &why),
        }
    }
    Ok(())
}

fn check(message: &AssistantMessage, behavior: &str, expected: &str) -> Outcome {
    let overflow = is_context_overflow(message, None);
    let class = match &message.stop_reason {
        StopReason::Error if overflow => "overflow",
        StopReason::Error if is_retryable(message) => "retryable",
        StopReason::Error => "final",
        StopReason::Stop => "stop",
        StopReason::Length => "length",
        StopReason::ToolUse => "tool use",
        _ => "something else",
    };
    let error = message.error_message.as_deref().unwrap_or_default();
    if class != expected {
        return Err(format!("{class} instead of {expected}: {error}"));
    }
    let text = message.text();
    let thinks = message.content.iter().any(|block| matches!(block, AssistantBlock::Thinking(_)));
    let good = match behavior {
        "partial_eof" | "partial_disconnect" => text == "discarded partial response",
        "reasoning_success" => thinks && text == "mock response recovered",
        "success" | "slow_success" | "max_tokens" | "wrong_content_type" => {
            text == "mock response recovered" && message.usage.input == 3
        }
        "tool_call_success" => {
            message.tool_calls().any(|call| call.name == "get_weather" && call.arguments.len() == 1)
        }
        "rate_limit"
        | "server_error"
        | "service_unavailable"
        | "auth_error"
        | "invalid_request"
        | "context_overflow"
        | "quota_exceeded" => error.contains("mock"),
        _ => true,
    };
    if good { Ok(()) } else { Err(format!("{:?}, {error:?}", message.content)) }
}
