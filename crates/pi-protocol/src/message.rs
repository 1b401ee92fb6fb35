//! Messages: the transcript of a conversation.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::Extra;
use crate::content::{AssistantBlock, TextContent, ToolCall, UserBlock};
use crate::tool::Tool;
use crate::usage::Usage;
use crate::{Model, ThinkingLevel, number};

/// A message. The bodies are shared, so cloning a transcript costs a pointer per message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    /// Instructions and tool declarations; the first one is the base, later ones patch it.
    System(Arc<SystemMessage>),
    /// Input of the user.
    User(Arc<UserMessage>),
    /// An answer of the model.
    Assistant(Arc<AssistantMessage>),
    /// The result of a tool call.
    ToolResult(Arc<ToolResultMessage>),
}

/// Text or a list of blocks. Both forms occur in files and on the wire, and both are kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum MessageContent<Block> {
    /// A plain string.
    Text(String),
    /// A list of blocks.
    Blocks(Vec<Block>),
}

/// The content of a user message.
pub type UserContent = MessageContent<UserBlock>;

/// Instructions and tool declarations, in force from this message on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SystemMessage {
    /// Text of the instructions.
    #[serde(default, deserialize_with = "null_is_default")]
    pub content: MessageContent<TextContent>,
    /// Named sections of the prompt; `null` deletes a section that was declared earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sections: Option<Map<String, Value>>,
    /// Tools that become available.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools_added: Vec<Tool>,
    /// Tools that are no longer available.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools_removed: Vec<RemovedTool>,
    /// Milliseconds since the Unix epoch.
    #[serde(default, with = "number::js")]
    pub timestamp: f64,
    /// Fields unknown to this crate.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A tool that is no longer available.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedTool {
    /// The tool's name.
    pub name: String,
}

/// Input of the user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserMessage {
    /// The text and images of the user.
    #[serde(default, deserialize_with = "null_is_default")]
    pub content: UserContent,
    /// Milliseconds since the Unix epoch.
    #[serde(default, with = "number::js")]
    pub timestamp: f64,
    /// Fields unknown to this crate.
    #[serde(flatten)]
    pub extra: Extra,
}

/// An answer of the model, complete or up to the point where it ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessage {
    /// Text, thinking and tool calls in the order they were produced.
    #[serde(default, deserialize_with = "blocks")]
    pub content: Vec<AssistantBlock>,
    /// The wire format of the answer, for example `anthropic-messages`.
    #[serde(default)]
    pub api: String,
    /// The provider's id.
    #[serde(default)]
    pub provider: String,
    /// Id of the requested model.
    #[serde(default)]
    pub model: String,
    /// Id of the model that answered, if the server named another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_model: Option<String>,
    /// The provider's id of this response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// The requested effort, as the provider calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_thinking_level: Option<String>,
    /// Thinking level of the run that made the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<ThinkingLevel>,
    /// Problems that did not end the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<Diagnostic>,
    /// Token counts and their cost.
    #[serde(default, deserialize_with = "null_is_default")]
    pub usage: Usage,
    /// The reason why the answer ended.
    #[serde(default, deserialize_with = "null_is_default")]
    pub stop_reason: StopReason,
    /// The error text, for `error` and `aborted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// The stop reason as the provider sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_stop_reason: Option<String>,
    /// True if the provider considers the turn complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_turn: Option<bool>,
    /// Time of the request, in milliseconds since the Unix epoch.
    #[serde(default, with = "number::js")]
    pub timestamp: f64,
    /// Time from the request to the last event.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "number::js_option")]
    pub duration_ms: Option<f64>,
    /// Fields unknown to this crate.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The result of a tool call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultMessage {
    /// Id of the tool call.
    pub tool_call_id: String,
    /// The tool's name.
    #[serde(default)]
    pub tool_name: String,
    /// The text and images for the model.
    #[serde(default, deserialize_with = "blocks")]
    pub content: Vec<UserBlock>,
    /// Data for the program that renders the result; never sent to a model.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub details: Option<Value>,
    /// Tokens spent by the tool itself; never sent to a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// True if the tool failed.
    #[serde(default)]
    pub is_error: bool,
    /// Milliseconds since the Unix epoch.
    #[serde(default, with = "number::js")]
    pub timestamp: f64,
    /// Run time of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "number::js_option")]
    pub duration_ms: Option<f64>,
    /// Fields unknown to this crate, `nestedCalls` among them.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The reason why an answer ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum StopReason {
    /// The answer is still streaming.
    #[default]
    Pending,
    /// The model finished its answer.
    Stop,
    /// The output limit was reached, so the answer is incomplete.
    Length,
    /// The model waits for tool results.
    ToolUse,
    /// The request failed; see `error_message`.
    Error,
    /// The caller cancelled the request.
    Aborted,
    /// The provider will answer later.
    Deferred,
    /// A reason that this version does not know.
    #[serde(untagged)]
    Other(String),
}

/// A problem that did not end the request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// A stable name, for example `anthropic_strict_tools_fallback`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Milliseconds since the Unix epoch.
    #[serde(default, with = "number::js")]
    pub timestamp: f64,
    /// The error that caused the diagnostic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<DiagnosticError>,
    /// Further data about the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Fields unknown to this crate.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The error that caused a [`Diagnostic`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DiagnosticError {
    /// Text of the error.
    pub message: String,
    /// Name, code and stack, if known.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Returns the current time in the unit of every `timestamp` field.
pub fn now_ms() -> f64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Milliseconds stay exact in an f64 for the next 280,000 years.
    since_epoch.as_millis() as f64
}

fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// Deserializes blocks without spare capacity: a list grows by doubling, and a message that was
/// read from a file does not grow. Spare capacity would be a third of the memory of a long
/// transcript.
fn blocks<'de, D, Block>(deserializer: D) -> Result<Vec<Block>, D::Error>
where
    D: Deserializer<'de>,
    Block: Deserialize<'de>,
{
    let mut blocks: Vec<Block> = null_is_default(deserializer)?;
    blocks.shrink_to_fit();
    Ok(blocks)
}

/// Distinguishes `null` (a value) from an absent field.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl<Block> Default for MessageContent<Block> {
    fn default() -> Self {
        Self::Blocks(Vec::new())
    }
}

impl Message {
    /// Creates a system message with this prompt.
    pub fn system(prompt: impl Into<String>) -> Self {
        Self::System(Arc::new(SystemMessage {
            content: MessageContent::Text(prompt.into()),
            timestamp: now_ms(),
            ..SystemMessage::default()
        }))
    }

    /// Creates a user message with this text.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User(Arc::new(UserMessage {
            content: MessageContent::Text(text.into()),
            timestamp: now_ms(),
            extra: Extra::new(),
        }))
    }

    /// Creates a user message from blocks.
    pub fn user_blocks(blocks: Vec<UserBlock>) -> Self {
        Self::User(Arc::new(UserMessage {
            content: MessageContent::Blocks(blocks),
            timestamp: now_ms(),
            extra: Extra::new(),
        }))
    }

    /// Creates the result of `call`.
    pub fn tool_result(call: &ToolCall, content: Vec<UserBlock>, is_error: bool) -> Self {
        Self::ToolResult(Arc::new(ToolResultMessage {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            content,
            is_error,
            timestamp: now_ms(),
            ..ToolResultMessage::default()
        }))
    }

    /// Returns the timestamp, in milliseconds since the Unix epoch.
    pub fn timestamp(&self) -> f64 {
        match self {
            Self::System(message) => message.timestamp,
            Self::User(message) => message.timestamp,
            Self::Assistant(message) => message.timestamp,
            Self::ToolResult(message) => message.timestamp,
        }
    }
}

impl AssistantMessage {
    /// Creates an empty message that is about to be streamed from `model`.
    pub fn pending(model: &Model) -> Self {
        Self {
            api: model.api.clone(),
            provider: model.provider.clone(),
            model: model.id.clone(),
            timestamp: now_ms(),
            ..Self::default()
        }
    }

    /// Returns all text blocks, joined without a separator.
    pub fn text(&self) -> String {
        self.content.iter().filter_map(AssistantBlock::as_text).collect()
    }

    /// Iterates over the tool calls in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            AssistantBlock::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}

impl StopReason {
    /// Returns true if the request failed or was aborted.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Error | Self::Aborted)
    }
}
