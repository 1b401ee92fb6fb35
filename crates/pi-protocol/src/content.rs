//! Content blocks: the parts of a message.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Extra;

/// A piece of text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextContent {
    /// The text.
    pub text: String,
    /// An opaque value of the provider that must be sent back with the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_signature: Option<String>,
    /// Fields unknown to this crate.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What the model thought before it answered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThinkingContent {
    /// The thinking, or a summary of it, as far as the provider shows it.
    pub thinking: String,
    /// An opaque value that proves to the provider that this thinking is its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_signature: Option<String>,
    /// The provider hid the text; the encrypted payload is in `thinking_signature`.
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
    /// For example `image/png`.
    pub mime_type: String,
    /// Fields unknown to this crate.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The model asks for a tool to be run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// Ties the call to its result.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments. While the call streams, what can be read of them so far.
    #[serde(default)]
    pub arguments: Map<String, Value>,
    /// Google's opaque signature of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought_signature: Option<String>,
    /// The namespace of a dynamically loaded tool (OpenAI Responses).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Set when the finished argument text was not a JSON object: what was wrong, and the text.
    /// `arguments` is then empty and the call must not be run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_error: Option<String>,
    /// Fields unknown to this crate.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A block of an assistant message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum AssistantBlock {
    /// Text for the user.
    Text(TextContent),
    /// Thinking.
    Thinking(ThinkingContent),
    /// A tool call.
    ToolCall(ToolCall),
    /// A block of a kind this crate does not know: kept, never sent to a model.
    #[serde(untagged)]
    Unknown(Extra),
}

/// A block of a user message or a tool result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum UserBlock {
    /// Text.
    Text(TextContent),
    /// An image.
    Image(ImageContent),
    /// A block of a kind this crate does not know: kept, never sent to a model.
    #[serde(untagged)]
    Unknown(Extra),
}

impl TextContent {
    /// A text block without a signature.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

impl ImageContent {
    /// An image from base64 `data` of the given MIME type.
    pub fn new(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self { data: data.into(), mime_type: mime_type.into(), ..Self::default() }
    }
}

impl UserBlock {
    /// The text, if it is a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(&text.text),
            _ => None,
        }
    }

    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// An image block from base64 `data`.
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Image(ImageContent::new(data, mime_type))
    }
}

impl AssistantBlock {
    /// The text, if it is a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(&text.text),
            _ => None,
        }
    }

    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// A thinking block without a signature.
    pub fn thinking(thinking: impl Into<String>) -> Self {
        Self::Thinking(ThinkingContent { thinking: thinking.into(), ..ThinkingContent::default() })
    }

    /// A tool call.
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
