//! Content blocks: the parts of a message.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Extra;

/// A text block.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextContent {
    /// The text itself.
    pub text: String,
    /// Opaque value of the provider that must be sent back with the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_signature: Option<String>,
    /// Fields unknown to this crate.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The thinking of the model before or between parts of its answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThinkingContent {
    /// The thinking, or the summary of it that the provider returns.
    pub thinking: String,
    /// Opaque value that proves to the provider that it produced this thinking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_signature: Option<String>,
    /// True if the provider withheld the text; `thinking_signature` has the encrypted payload.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// Fields unknown to this crate.
    #[serde(flatten)]
    pub extra: Extra,
}

/// An image, carried inline.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageContent {
    /// The bytes in base64, without a `data:` prefix.
    pub data: String,
    /// The MIME type, for example `image/png`.
    pub mime_type: String,
    /// Fields unknown to this crate.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A call of a tool by the model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The id that connects the call to its result.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments. While the call streams, the part that can be parsed so far.
    #[serde(default)]
    pub arguments: Map<String, Value>,
    /// Google's opaque signature of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought_signature: Option<String>,
    /// The namespace of a dynamically loaded tool (OpenAI Responses).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The error and the argument text, if the complete text was not a JSON object. `arguments` is
    /// then empty and the call must not be executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_error: Option<String>,
    /// Fields unknown to this crate.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A block of an assistant message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
#[allow(missing_docs)] // The variants carry the names of their types.
pub enum AssistantBlock {
    Text(TextContent),
    Thinking(ThinkingContent),
    ToolCall(ToolCall),
    /// A block of an unknown kind: kept in files, never sent to a model.
    #[serde(untagged)]
    Unknown(Extra),
}

/// A block of a user message or a tool result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
#[allow(missing_docs)] // The variants carry the names of their types.
pub enum UserBlock {
    Text(TextContent),
    Image(ImageContent),
    /// A block of an unknown kind: kept in files, never sent to a model.
    #[serde(untagged)]
    Unknown(Extra),
}

impl TextContent {
    /// Creates a text block without a signature.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

impl ImageContent {
    /// Creates an image from base64 `data` of the given MIME type.
    pub fn new(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self { data: data.into(), mime_type: mime_type.into(), ..Self::default() }
    }
}

impl UserBlock {
    /// Returns the text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(&text.text),
            _ => None,
        }
    }

    /// Creates a text block without a signature.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// Creates an image block from base64 `data`.
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Image(ImageContent::new(data, mime_type))
    }
}

impl AssistantBlock {
    /// Returns the text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(&text.text),
            _ => None,
        }
    }

    /// Creates a text block without a signature.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// Creates a thinking block without a signature.
    pub fn thinking(thinking: impl Into<String>) -> Self {
        Self::Thinking(ThinkingContent { thinking: thinking.into(), ..ThinkingContent::default() })
    }

    /// Creates a tool call with complete arguments.
    pub fn tool_call(
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: Map<String, Value>,
    ) -> Self {
        Self::ToolCall(ToolCall {
            id: id.into(),
            name: name.into(),
            arguments,
            ..ToolCall::default()
        })
    }
}
