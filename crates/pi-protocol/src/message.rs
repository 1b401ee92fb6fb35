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

/// One message. The bodies are shared, so cloning a transcript costs a pointer per message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    /// Instructions and tool declarations; the first one is the base, later ones patch it.
    System(Arc<SystemMessage>),
    /// What the user said.
    User(Arc<UserMessage>),
    /// What the model answered.
    Assistant(Arc<AssistantMessage>),
    /// What a tool returned.
    ToolResult(Arc<ToolResultMessage>),
}

/// Text, or a list of blocks. Both forms occur in files and on the wire, and both are kept.
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

/// Instructions for the model, and which tools it has from here on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SystemMessage {
    /// The text.
    #[serde(default, deserialize_with = "null_is_default")]
    pub content: MessageContent<TextContent>,
    /// Named parts of the prompt; `None` deletes a part declared earlier.
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

/// Names a tool that is no longer available.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedTool {
    /// The tool's name.
    pub name: String,
}

/// What the user said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserMessage {
    /// Text and images.
    #[serde(default, deserialize_with = "null_is_default")]
    pub content: UserContent,
    /// Milliseconds since the Unix epoch.
    #[serde(default, with = "number::js")]
    pub timestamp: f64,
    /// Fields unknown to this crate.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What the model answered, complete or as far as it came.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessage {
    /// Text, thinking and tool calls in the order they were produced.
    #[serde(default, deserialize_with = "blocks")]
    pub content: Vec<AssistantBlock>,
    /// The wire format that produced it, for example `anthropic-messages`.
    #[serde(default)]
    pub api: String,
    /// The provider's id.
    #[serde(default)]
    pub provider: String,
    /// The id of the model that was asked.
    #[serde(default)]
    pub model: String,
    /// The model that answered, if the server named another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_model: Option<String>,
    /// The provider's id of this response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// The effort the provider was told to use, in its own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_thinking_level: Option<String>,
    /// The thinking level of the run that asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<ThinkingLevel>,
    /// What went wrong on the way without ending the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<Diagnostic>,
    /// Tokens and cost.
    #[serde(default, deserialize_with = "null_is_default")]
    pub usage: Usage,
    /// Why the model stopped.
    #[serde(default, deserialize_with = "null_is_default")]
    pub stop_reason: StopReason,
    /// For `error` and `aborted`: what happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// The provider's own word for why it stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_stop_reason: Option<String>,
    /// Whether the provider considers the turn over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_turn: Option<bool>,
    /// When the request was made, in milliseconds since the Unix epoch.
    #[serde(default, with = "number::js")]
    pub timestamp: f64,
    /// From the request to the last event.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "number::js_option")]
    pub duration_ms: Option<f64>,
    /// Fields unknown to this crate.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What a tool returned.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultMessage {
    /// The call this answers.
    pub tool_call_id: String,
    /// The tool's name.
    #[serde(default)]
    pub tool_name: String,
    /// Text and images for the model.
    #[serde(default, deserialize_with = "blocks")]
    pub content: Vec<UserBlock>,
    /// Facts for the program that shows the result; never sent to a model.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub details: Option<Value>,
    /// Tokens that the tool itself spent; never sent to a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The tool failed.
    #[serde(default)]
    pub is_error: bool,
    /// Milliseconds since the Unix epoch.
    #[serde(default, with = "number::js")]
    pub timestamp: f64,
    /// How long the tool ran.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "number::js_option")]
    pub duration_ms: Option<f64>,
    /// Fields unknown to this crate, `nestedCalls` among them.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Why the model stopped.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum StopReason {
    /// The answer is still streaming.
    #[default]
    Pending,
    /// The model finished.
    Stop,
    /// The output limit was reached; the answer is cut.
    Length,
    /// The model waits for tool results.
    ToolUse,
    /// The request failed; see `error_message`.
    Error,
    /// The caller cancelled.
    Aborted,
    /// The provider will answer later.
    Deferred,
    /// A reason written by a newer program.
    #[serde(untagged)]
    Other(String),
}

/// Something that went wrong on the way without ending the request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// A stable name, for example `anthropic_strict_tools_fallback`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Milliseconds since the Unix epoch.
    #[serde(default, with = "number::js")]
    pub timestamp: f64,
    /// The error behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<DiagnosticError>,
    /// Anything else worth knowing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Fields unknown to this crate.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The error behind a [`Diagnostic`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DiagnosticError {
    /// The text.
    pub message: String,
    /// Name, code and stack, where there are any.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The time now, in the unit of every `timestamp` field.
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

/// Blocks without room for more: a list grows by doubling, and a message read from a file does not
/// grow. A third of the memory of a long transcript would be such room.
fn blocks<'de, D, Block>(deserializer: D) -> Result<Vec<Block>, D::Error>
where
    D: Deserializer<'de>,
    Block: Deserialize<'de>,
{
    let mut blocks: Vec<Block> = null_is_default(deserializer)?;
    blocks.shrink_to_fit();
    Ok(blocks)
}

/// Keeps `null` (a value) apart from an absent field.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl<Block> Default for MessageContent<Block> {
    fn default() -> Self {
        Self::Blocks(Vec::new())
    }
}

impl Message {
    /// A system message with this prompt.
    pub fn system(prompt: impl Into<String>) -> Self {
        Self::System(Arc::new(SystemMessage {
            content: MessageContent::Text(prompt.into()),
            timestamp: now_ms(),
            ..SystemMessage::default()
        }))
    }

    /// A user message with this text.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User(Arc::new(UserMessage {
            content: MessageContent::Text(text.into()),
            timestamp: now_ms(),
            extra: Extra::new(),
        }))
    }

    /// A user message made of blocks.
    pub fn user_blocks(blocks: Vec<UserBlock>) -> Self {
        Self::User(Arc::new(UserMessage {
            content: MessageContent::Blocks(blocks),
            timestamp: now_ms(),
            extra: Extra::new(),
        }))
    }

    /// The result of `call`.
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

    /// The time stamp, whatever the role.
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
    /// An empty message about to be streamed from `model`.
    pub fn pending(model: &Model) -> Self {
        Self {
            api: model.api.clone(),
            provider: model.provider.clone(),
            model: model.id.clone(),
            timestamp: now_ms(),
            ..Self::default()
        }
    }

    /// All text blocks, joined without a separator.
    pub fn text(&self) -> String {
        self.content.iter().filter_map(AssistantBlock::as_text).collect()
    }

    /// The tool calls, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            AssistantBlock::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}

impl StopReason {
    /// The request did not produce an answer: it failed or was aborted.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Error | Self::Aborted)
    }
}
