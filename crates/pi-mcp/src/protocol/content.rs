//! Content of results, prompts and messages.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Extra, Resource};

/// A piece of content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    /// Text in plain form.
    Text {
        /// The text of the content.
        text: String,
        /// Fields that this version does not know.
        #[serde(flatten)]
        extra: Extra,
    },
    /// An image.
    #[serde(rename_all = "camelCase")]
    Image {
        /// The image in base64.
        data: String,
        /// MIME type of the data.
        mime_type: String,
        /// Fields that this version does not know.
        #[serde(flatten)]
        extra: Extra,
    },
    /// A sound.
    #[serde(rename_all = "camelCase")]
    Audio {
        /// The sound in base64.
        data: String,
        /// MIME type of the data.
        mime_type: String,
        /// Fields that this version does not know.
        #[serde(flatten)]
        extra: Extra,
    },
    /// The contents of a resource.
    Resource {
        /// Contents of the resource.
        resource: ResourceContents,
        /// Fields that this version does not know.
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
    /// Creates a piece of text.
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
    /// The text of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The bytes in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}
