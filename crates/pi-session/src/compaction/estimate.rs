//! Estimates of tokens: the counts of providers as far as they go, then four characters per token.
//!
//! Characters are UTF-16 units, as in the figures that the TypeScript pi stores in session files.

use std::io;

use pi_protocol::{
    AgentMessage, AssistantBlock, AssistantMessage, CustomMessage, Declarations, EntryBody,
    Message, MessageContent, SystemMessage, UserBlock,
};
use serde::Serialize;
use serde_json::{Map, Value};

use super::boundary;
use crate::ProjectedEntry;
use crate::roles::{
    BashExecution, BranchSummaryMessage, CompactionSummaryMessage, ExtensionMessage,
};

/// Assumed size of an image, in characters.
const IMAGE: u64 = 4800;

/// The size of a context, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextTokens {
    /// The sum of counted and estimated tokens.
    pub tokens: u64,
    /// Tokens that a provider has counted.
    pub usage_tokens: u64,
    /// Tokens that are estimated: those after the count, or all.
    pub trailing_tokens: u64,
    /// Index of the message with the last count of a provider.
    pub last_usage_index: Option<usize>,
}

/// Estimates the tokens of one message.
pub fn message_tokens(message: &AgentMessage) -> u64 {
    let characters = match message {
        AgentMessage::Llm(Message::System(system)) => system_length(system),
        AgentMessage::Llm(Message::User(user)) => match &user.content {
            MessageContent::Text(text) => length(text),
            MessageContent::Blocks(blocks) => blocks.iter().map(block_length).sum(),
        },
        AgentMessage::Llm(Message::Assistant(assistant)) => {
            assistant.content.iter().map(assistant_block_length).sum()
        }
        AgentMessage::Llm(Message::ToolResult(result)) => {
            result.content.iter().map(block_length).sum()
        }
        AgentMessage::Custom(fields) => custom_length(message.role(), fields),
    };
    characters.div_ceil(4)
}

/// Returns the tokens of a context: the last count of a provider, and an estimate of the messages
/// after it.
pub fn context_tokens<'a>(messages: impl IntoIterator<Item = &'a AgentMessage>) -> ContextTokens {
    let messages: Vec<&AgentMessage> = messages.into_iter().collect();
    let counted = messages
        .iter()
        .enumerate()
        .rev()
        .find_map(|(index, message)| Some((index, counted_tokens(message.as_assistant()?)?)));
    let later = counted.map_or(0, |(index, _)| index + 1);
    let trailing_tokens = messages[later..].iter().map(|message| message_tokens(message)).sum();
    let usage_tokens = counted.map_or(0, |(_, tokens)| tokens);
    ContextTokens {
        tokens: usage_tokens.saturating_add(trailing_tokens),
        usage_tokens,
        trailing_tokens,
        last_usage_index: counted.map(|(index, _)| index),
    }
}

/// Returns the tokens of the context of these entries. Without a count after the last edit or
/// compaction everything is estimated: earlier counts refer to another context.
pub fn projected_tokens(entries: &[ProjectedEntry]) -> ContextTokens {
    let newer = boundary::newer_than_compaction(entries);
    let is_edit =
        |projected: &ProjectedEntry| matches!(projected.entry.body, EntryBody::ContextEdit(_));
    let changed = entries.iter().rposition(is_edit).map_or(newer, |at| newer.max(at + 1));
    if entries[changed..].iter().any(is_counted) {
        return context_tokens(entries.iter().flat_map(|projected| &projected.messages));
    }
    let messages = || entries.iter().flat_map(|projected| &projected.messages);
    let system = messages().filter_map(|message| match message {
        AgentMessage::Llm(message @ Message::System(_)) => Some(message),
        _ => None,
    });
    let others = messages().filter(|message| message.role() != "system").map(message_tokens);
    let tokens = current_system_tokens(&Declarations::replay(system)) + others.sum::<u64>();
    ContextTokens { tokens, trailing_tokens: tokens, ..ContextTokens::default() }
}

/// Returns true if a provider has counted the context since the last compaction.
pub(crate) fn counted_since_compaction(entries: &[ProjectedEntry]) -> bool {
    entries[boundary::newer_than_compaction(entries)..].iter().any(is_counted)
}

fn is_counted(projected: &ProjectedEntry) -> bool {
    let mut answers = projected.messages.iter().filter_map(AgentMessage::as_assistant);
    answers.any(|answer| counted_tokens(answer).is_some())
}

/// Returns the count of a provider, unless the request failed.
pub(crate) fn counted_tokens(message: &AssistantMessage) -> Option<u64> {
    if message.stop_reason.is_failure() {
        return None;
    }
    Some(usage_tokens(message)).filter(|tokens| *tokens > 0)
}

/// Returns the tokens of request and answer, as reported.
pub(super) fn usage_tokens(message: &AssistantMessage) -> u64 {
    let usage = &message.usage;
    match usage.total_tokens {
        0 => usage.total_input().saturating_add(usage.output),
        total => total,
    }
}

/// Estimates the prompt and tools in force, which are sent once even if many messages declare them.
fn current_system_tokens(state: &Declarations) -> u64 {
    let content: u64 = length(&state.content.join("\n\n"));
    let sections: u64 = state.sections.values().filter_map(Value::as_str).map(length).sum();
    let tools = if state.tools.is_empty() { 0 } else { json_length(&state.tools) };
    (content + sections + tools).div_ceil(4)
}

fn system_length(system: &SystemMessage) -> u64 {
    let content = match &system.content {
        MessageContent::Text(text) => length(text),
        MessageContent::Blocks(blocks) => blocks.iter().map(|block| length(&block.text)).sum(),
    };
    let sections = system.sections.iter().flatten();
    let sections: u64 = sections.filter_map(|(_, text)| text.as_str()).map(length).sum();
    let tools = if system.tools_added.is_empty() { 0 } else { json_length(&system.tools_added) };
    content + sections + tools
}

fn block_length(block: &UserBlock) -> u64 {
    match block {
        UserBlock::Text(text) => length(&text.text),
        UserBlock::Image(_) => IMAGE,
        UserBlock::Unknown(_) => 0,
    }
}

fn assistant_block_length(block: &AssistantBlock) -> u64 {
    match block {
        AssistantBlock::Text(text) => length(&text.text),
        AssistantBlock::Thinking(thinking) => length(&thinking.thinking),
        AssistantBlock::ToolCall(call) => length(&call.name) + json_length(&call.arguments),
        AssistantBlock::Unknown(_) => 0,
    }
}

/// Returns the length of a message from its fields; building its type would copy all of its text.
fn custom_length(role: &str, fields: &Map<String, Value>) -> u64 {
    let text = |name| fields.get(name).and_then(Value::as_str).map_or(0, length);
    match role {
        BashExecution::ROLE => text("command") + text("output"),
        BranchSummaryMessage::ROLE | CompactionSummaryMessage::ROLE => text("summary"),
        ExtensionMessage::ROLE => match fields.get("content") {
            Some(Value::String(text)) => length(text),
            Some(Value::Array(blocks)) => blocks.iter().map(raw_block_length).sum(),
            _ => 0,
        },
        _ => 0,
    }
}

fn raw_block_length(block: &Value) -> u64 {
    match block.get("type").and_then(Value::as_str) {
        Some("text") => block.get("text").and_then(Value::as_str).map_or(0, length),
        Some("image") => IMAGE,
        _ => 0,
    }
}

/// Returns the length of a text in UTF-16 units.
pub(super) fn length(text: &str) -> u64 {
    utf16_units(text.as_bytes())
}

/// Counts UTF-16 units: one for each byte that is not a continuation, and one more for characters
/// of four bytes.
fn utf16_units(utf8: &[u8]) -> u64 {
    let units = |byte: &u8| u64::from(*byte & 0xC0 != 0x80) + u64::from(*byte >= 0xF0);
    utf8.iter().map(units).sum()
}

/// Returns the length of a value as JSON, without building the text.
fn json_length(value: &impl Serialize) -> u64 {
    struct Counter(u64);
    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += utf16_units(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // An incomplete count is still an estimate.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}
