//! The conversations with every peer, each in one wire format.
//!
//! The user message selects the answer in `xtask/data/interop/aimock.json`; peers with a real model
//! only have to answer with the right kind of content.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pi_ai::{
    AssistantBlock, AssistantEvent, AssistantMessage, Message, StopReason, ToolChoice, UserBlock,
    is_context_overflow, is_retryable,
};
use serde_json::{Value, json};

use crate::Outcome;
use crate::conversation::{Conversation, expect_text};
use crate::faults;
use crate::peer::{Format, Peer};

const HELLO: &str = "Say hello.";
pub(crate) const HELLO_BACK: &str = "Hello there, this is a scripted answer.";
pub(crate) const WEATHER: &str = "Think, then look up the weather in Oslo.";
pub(crate) const WEATHER_BACK: &str = "It is sunny in Oslo.";

/// A PNG image of one red pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// A greeting and its answer, twice, so that an answer is in the history.
pub(crate) async fn text(peer: &Peer, format: &Format) -> Outcome {
    let mut talk = Conversation::new(peer, format)?;
    for _ in 0..2 {
        talk.user(HELLO);
        let message = talk.ask().await?;
        expect_text(peer, &message, HELLO_BACK)?;
    }
    Ok(())
}

/// Calls, results, an answer, and one more turn with that history.
pub(crate) async fn tools(peer: &Peer, format: &Format) -> Outcome {
    let mut talk = Conversation::new(peer, format)?.with_tools();
    talk.user("Look up the weather in Oslo and in Rome.");
    let message = ask_for_call(peer, &mut talk).await?;
    let calls: Vec<_> = message.tool_calls().collect();
    if peer.scripted {
        let cities: Vec<_> = calls.iter().map(|call| call.arguments.get("city")).collect();
        if cities != [Some(&json!("Oslo")), Some(&json!("Rome"))] {
            return Err(format!("expected calls for Oslo and Rome, got {calls:?}"));
        }
        if calls[0].id == calls[1].id {
            return Err(format!("both calls have the id {}", calls[0].id));
        }
    }
    talk.results(&message, &[UserBlock::text("Sunny, 20 degrees.")]);
    expect_text(peer, &talk.ask().await?, "It is sunny in both.")?;
    talk.user(HELLO);
    ask_for_text(peer, &mut talk, HELLO_BACK).await
}

/// Requests a turn without tool calls. Models need the option for it; scripts do not.
async fn ask_for_text(peer: &Peer, talk: &mut Conversation, words: &str) -> Outcome {
    if !peer.scripted {
        talk.options.tool_choice = Some(ToolChoice::None);
    }
    let message = talk.ask().await?;
    talk.options.tool_choice = None;
    expect_text(peer, &message, words)
}

/// Requests a turn with tool calls. Models need the option for it; scripts do not.
async fn ask_for_call(
    peer: &Peer,
    talk: &mut Conversation,
) -> Result<Arc<AssistantMessage>, String> {
    if !peer.scripted {
        talk.options.tool_choice = Some(ToolChoice::Required);
    }
    let message = talk.ask().await?;
    talk.options.tool_choice = None;
    expect_call(&message)?;
    Ok(message)
}

/// Checks that the answer calls the tool, and that every call can be run.
pub(crate) fn expect_call(message: &AssistantMessage) -> Outcome {
    if message.stop_reason != StopReason::ToolUse {
        return Err(format!("stopped for {:?}: {:?}", message.stop_reason, message.text()));
    }
    for call in message.tool_calls() {
        if call.name != "get_weather" || call.id.is_empty() || call.arguments_error.is_some() {
            return Err(format!("invalid call: {call:?}"));
        }
    }
    let any = message.tool_calls().next().is_some();
    if any { Ok(()) } else { Err("no call in a turn that stops for tools".to_owned()) }
}

/// Thinking before a call and before an answer; the signatures are sent back with the history.
pub(crate) async fn thinking(peer: &Peer, format: &Format) -> Outcome {
    let mut talk = Conversation::new(peer, format)?.with_tools().with_thinking();
    talk.user(WEATHER);
    let first = ask_for_call(peer, &mut talk).await?;
    talk.results(&first, &[UserBlock::text("Sunny, 20 degrees.")]);
    let second = talk.ask().await?;
    expect_text(peer, &second, WEATHER_BACK)?;
    sent_back(peer, &talk, &first)?;
    talk.user(HELLO);
    ask_for_text(peer, &mut talk, HELLO_BACK).await?;
    sent_back(peer, &talk, &first)?;
    sent_back(peer, &talk, &second)
}

/// Checks that there was thinking, and that its signatures are in the last request. A signature is a
/// token of the provider, a whole item (Responses) or the name of the field of the thinking (chat
/// completions).
fn sent_back(peer: &Peer, talk: &Conversation, message: &AssistantMessage) -> Outcome {
    let sent = talk.last_sent();
    let mut in_words = 0;
    for block in &message.content {
        let AssistantBlock::Thinking(thought) = block else { continue };
        in_words += usize::from(!thought.thinking.trim().is_empty());
        let Some(signature) = &thought.thinking_signature else { continue };
        let item: Option<Value> = serde_json::from_str(signature).ok();
        let id = item.as_ref().and_then(|item| item.get("id")).and_then(Value::as_str);
        let token = id.unwrap_or(signature);
        if !sent.contains(token) {
            return Err(format!("{token:?} is not in the request: {sent}"));
        }
    }
    // A script always thinks; a model may not.
    match in_words {
        0 if peer.scripted => Err(format!("no thinking in {:?}", message.content)),
        _ => Ok(()),
    }
}

/// Text between the calls, in order, in the answer and in the next request.
pub(crate) async fn interleaved(peer: &Peer, format: &Format) -> Outcome {
    let mut talk = Conversation::new(peer, format)?.with_tools();
    talk.user("Look up Oslo, then Rome, and talk in between.");
    let message = talk.ask().await?;
    expect_call(&message)?;
    let kinds: Vec<&str> = message
        .content
        .iter()
        .filter_map(|block| match block {
            AssistantBlock::Text(_) => Some("text"),
            AssistantBlock::ToolCall(_) => Some("call"),
            // Encrypted reasoning comes first, if the format asks for it.
            _ => None,
        })
        .collect();
    // A chat completion has one text and one list of calls.
    let expected: &[&str] = match format.api {
        "openai-completions" => &["text", "call", "call"],
        _ => &["text", "call", "text", "call"],
    };
    if kinds != expected {
        return Err(format!("expected {expected:?}, got {:?}", message.content));
    }
    talk.results(&message, &[UserBlock::text("Sunny, 20 degrees.")]);
    expect_text(peer, &talk.ask().await?, "It is sunny in both.")
}

/// A wrong key is a clear error that is not retryable.
pub(crate) async fn wrong_key(peer: &Peer, format: &Format) -> Outcome {
    let mut talk = Conversation::new(peer, format)?;
    talk.options.api_key = Some("sk-wrong".to_owned().into());
    talk.user(HELLO);
    let message = talk.attempt().await?;
    let error = message.error_message.as_deref().unwrap_or_default();
    // LiteLLM without a database responds with 400 instead of 401.
    let clear = error.contains("401") || error.contains("400");
    if message.stop_reason == StopReason::Error && !is_retryable(&message) && clear {
        return Ok(());
    }
    Err(format!("{:?}: {error:?}", message.stop_reason))
}

/// A wrong secret is a clear error that is not retryable.
pub(crate) async fn wrong_secret(peer: &Peer, format: &Format) -> Outcome {
    let mut talk = Conversation::new(peer, format)?;
    talk.options.env.insert("AWS_SECRET_ACCESS_KEY".to_owned(), "wrong".to_owned());
    talk.user(HELLO);
    let message = talk.attempt().await?;
    let error = message.error_message.as_deref().unwrap_or_default();
    let clear = error.starts_with("InvalidSignatureException: ");
    if clear && !is_retryable(&message) { Ok(()) } else { Err(error.to_owned()) }
}

/// Errors of the provider have its words, and only those that may pass are retryable.
pub(crate) async fn errors(peer: &Peer, format: &Format) -> Outcome {
    let cases = [
        ("Refuse the key.", "The key is not valid.", false),
        ("Limit the rate.", "Slow down.", true),
        ("Be too busy.", "Overloaded.", true),
    ];
    for (request, words, retryable) in cases {
        let mut talk = Conversation::new(peer, format)?;
        talk.options.retry.max_retries = 0;
        talk.user(request);
        let message = talk.attempt().await?;
        let error = message.error_message.as_deref().unwrap_or_default();
        if message.stop_reason != StopReason::Error
            || !error.contains(words)
            || is_retryable(&message) != retryable
        {
            let class = if is_retryable(&message) { "retryable" } else { "final" };
            return Err(format!("{request} {:?}, {class}: {error:?}", message.stop_reason));
        }
    }
    Ok(())
}

/// A request beyond the context window is recognized.
pub(crate) async fn overflow(peer: &Peer, format: &Format) -> Outcome {
    let mut talk = Conversation::new(peer, format)?;
    talk.options.retry.max_retries = 0;
    talk.user("Exceed the window.");
    let message = talk.attempt().await?;
    if is_context_overflow(&message, None) {
        return Ok(());
    }
    Err(format!("{:?}: {:?}", message.stop_reason, message.error_message))
}

/// An image of the user, and an image in a tool result.
pub(crate) async fn images(peer: &Peer, format: &Format) -> Outcome {
    let image = || UserBlock::image(PIXEL, "image/png");
    let mut talk = Conversation::new(peer, format)?.with_tools();
    let blocks = vec![UserBlock::text("What is in this picture?"), image()];
    talk.context.messages.push(Message::user_blocks(blocks));
    ask_for_text(peer, &mut talk, "A red pixel.").await?;
    talk.user(WEATHER);
    let message = ask_for_call(peer, &mut talk).await?;
    talk.results(&message, &[UserBlock::text("As in the picture:"), image()]);
    ask_for_text(peer, &mut talk, WEATHER_BACK).await?;
    match talk.last_sent().matches(PIXEL).count() {
        count if count == 1 + message.tool_calls().count() => Ok(()),
        count => Err(format!("{count} images in the request")),
    }
}

/// The answer has token counts.
pub(crate) async fn usage(peer: &Peer, format: &Format) -> Outcome {
    let mut talk = Conversation::new(peer, format)?;
    talk.user("Count the tokens.");
    let message = talk.ask().await?;
    let usage = &message.usage;
    let counted = (usage.total_input(), usage.output);
    // The script has 11 and 7; a translating peer may count by itself.
    let good = if peer.name == "aimock" { counted == (11, 7) } else { counted.0 * counted.1 > 0 };
    if good { Ok(()) } else { Err(format!("usage is {usage:?}")) }
}

/// Cancellation during the answer: immediate, with the text so far, and the conversation continues.
pub(crate) async fn abort(peer: &Peer, format: &Format) -> Outcome {
    let mut talk = Conversation::new(peer, format)?;
    if peer.name == "llmock" {
        let stall = json!({"type": "stream_fault", "kind": "stall", "after_chunks": 4,
            "stall_seconds": 20});
        faults::script(peer, &[stall]).await?;
    }
    talk.user("Tell a long story.");
    let mut stream = talk.client().stream(talk.model(), talk.context.clone(), talk.options.clone());
    while !matches!(stream.next().await, Some(AssistantEvent::TextDelta { .. }) | None) {}
    let started = Instant::now();
    stream.cancel();
    let message = stream.result().await;
    if message.stop_reason != StopReason::Aborted {
        let error = message.error_message.as_deref().unwrap_or_default();
        return Err(format!("stopped for {:?}: {error}", message.stop_reason));
    }
    if started.elapsed() > Duration::from_secs(1) {
        return Err(format!("ended only after {:?}", started.elapsed()));
    }
    if message.text().is_empty() || message.text().contains("The end.") {
        return Err(format!("kept {:?}", message.text()));
    }
    talk.context.messages.push(Message::Assistant(message));
    talk.user(HELLO);
    expect_text(peer, &talk.ask().await?, HELLO_BACK)
}
