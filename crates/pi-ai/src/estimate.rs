//! Estimate of the tokens of a conversation, for limits that must hold before the provider counts.
//!
//! The estimate is deliberately high (3.5 characters per token). If a provider has reported a
//! count, only the messages after it are estimated.

use pi_protocol::{
    AssistantBlock, AssistantMessage, Message, MessageContent, StopReason, UserBlock,
};

/// Assumed size of an image, in characters.
const IMAGE_CHARS: usize = 4800;

/// Tokens that stay free between the input and the requested output.
const MARGIN: u64 = 4096;

/// Limits the `requested` output tokens to the part of the window that the conversation leaves free.
pub fn fit_max_tokens(requested: u64, context_window: u64, messages: &[Message]) -> u64 {
    if context_window == 0 {
        return requested.max(1);
    }
    let free = context_window.saturating_sub(context_tokens(messages)).saturating_sub(MARGIN);
    requested.min(free.max(1))
}

/// Estimates the tokens of a conversation.
pub fn context_tokens(messages: &[Message]) -> u64 {
    let counted = last_counted(messages);
    let (known, rest) = match counted {
        Some((index, tokens)) => (tokens, &messages[index + 1..]),
        None => (0, messages),
    };
    known + rest.iter().map(message_tokens).sum::<u64>()
}

/// Finds the last message whose usage covers everything before it.
fn last_counted(messages: &[Message]) -> Option<(usize, u64)> {
    let mut newest = f64::MIN;
    let mut found = None;
    for (index, message) in messages.iter().enumerate() {
        if let Message::Assistant(assistant) = message
            && assistant.timestamp >= newest
            && let Some(tokens) = counted_tokens(assistant)
        {
            found = Some((index, tokens));
        }
        newest = newest.max(message.timestamp());
    }
    found
}

fn counted_tokens(message: &AssistantMessage) -> Option<u64> {
    if matches!(message.stop_reason, StopReason::Error | StopReason::Aborted) {
        return None;
    }
    let usage = &message.usage;
    let total = if usage.total_tokens > 0 {
        usage.total_tokens
    } else {
        usage.total_input().saturating_add(usage.output)
    };
    (total > 0).then_some(total)
}

fn message_tokens(message: &Message) -> u64 {
    match message {
        Message::System(system) => {
            let tools = json_chars(&system.tools_added);
            let removed = json_chars(&system.tools_removed);
            tokens(chars(&system.prompt())) + tokens(tools) + tokens(removed)
        }
        Message::User(user) => tokens(match &user.content {
            MessageContent::Text(text) => chars(text),
            MessageContent::Blocks(blocks) => blocks.iter().map(block_chars).sum(),
        }),
        Message::ToolResult(result) => tokens(result.content.iter().map(block_chars).sum()),
        Message::Assistant(assistant) => tokens(
            assistant
                .content
                .iter()
                .map(|block| match block {
                    AssistantBlock::Text(text) => chars(&text.text),
                    AssistantBlock::Thinking(thinking) => chars(&thinking.thinking),
                    AssistantBlock::ToolCall(call) => {
                        chars(&call.name)
                            + serde_json::to_string(&call.arguments).map_or(0, |s| chars(&s))
                    }
                    AssistantBlock::Unknown(_) => 0,
                })
                .sum(),
        ),
    }
}

fn json_chars<T: serde::Serialize>(list: &[T]) -> usize {
    if list.is_empty() {
        return 0;
    }
    serde_json::to_string(list).map_or(0, |json| chars(&json))
}

fn block_chars(block: &UserBlock) -> usize {
    match block {
        UserBlock::Text(text) => chars(&text.text),
        UserBlock::Image(_) => IMAGE_CHARS,
        UserBlock::Unknown(_) => 0,
    }
}

/// Returns the length in UTF-16 units, the unit of the constants above.
fn chars(text: &str) -> usize {
    text.encode_utf16().count()
}

fn tokens(chars: usize) -> u64 {
    // 3.5 characters per token, rounded up.
    (chars as u64 * 2).div_ceil(7)
}
