//! Content of results, prompts and messages.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Extra, Resource};

/// A piece of content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// Anything else.
        #[serde(flatten)]
        extra: Extra,
    },
    /// An image.
    #[serde(rename_all = "camelCase")]
    Image {
        /// The image in base64.
        data: String,
        /// Its kind.
        mime_type: String,
        /// Anything else.
        #[serde(flatten)]
        extra: Extra,
    },
    /// A sound.
    #[serde(rename_all = "camelCase")]
    Audio {
        /// The sound in base64.
        data: String,
        /// Its kind.
        mime_type: String,
        /// Anything else.
        #[serde(flatten)]
        extra: Extra,
    },
    /// The contents of a resource.
    Resource {
        /// The contents.
        resource: ResourceContents,
        /// Anything else.
        #[serde(flatten)]
        extra: Extra,
    },
    /// A resource that can be read.
    ResourceLink(Resource),
    /// Content of an unknown kind, or without a field that its kind requires.
    #[serde(untagged)]
    Other(Value),
}

impl ContentBlock {
    /// Makes a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), extra: Extra::new() }
    }

    /// Returns the text, if the content is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } => Some(text),
            _ => None,
        }
    }
}

/// The contents of a resource: a text, or bytes in base64.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceContents {
    /// Address of the resource.
    pub uri: String,
    /// Kind of the resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The bytes in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// Anything else.
    #[serde(flatten)]
    pub extra: Extra,
}
