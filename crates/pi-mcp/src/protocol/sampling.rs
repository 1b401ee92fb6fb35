//! Sampling: a server asks the client for an answer of a model.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ContentBlock, Extra, Role};

/// Parameters of `sampling/createMessage`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CreateMessageParams {
    /// The conversation.
    pub messages: Vec<SamplingMessage>,
    /// System prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// The longest answer, in tokens.
    pub max_tokens: u64,
    /// Temperature of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Texts that end the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop_sequences: Vec<String>,
    /// Wishes about the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_preferences: Option<Value>,
    /// Tools that the model may call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<super::Tool>,
    /// Rule by which the model chooses tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<Value>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A message of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SamplingMessage {
    /// Role of the speaker.
    pub role: Role,
    /// Content of the message: one piece or several.
    #[serde(deserialize_with = "one_or_several")]
    pub content: Vec<ContentBlock>,
}

/// Result of `sampling/createMessage`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateMessageResult {
    /// Role of the speaker: the model.
    pub role: Role,
    /// The answer: a [`ContentBlock`], or a list of them.
    pub content: Value,
    /// Name of the model.
    pub model: String,
    /// Why the answer ended: `endTurn`, `stopSequence`, `maxTokens`, `toolUse`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
}

fn one_or_several<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<ContentBlock>, D::Error> {
    let blocks = match Value::deserialize(deserializer)? {
        Value::Array(blocks) => blocks,
        block => vec![block],
    };
    let read = blocks.into_iter().map(serde_json::from_value);
    read.collect::<Result<_, _>>().map_err(serde::de::Error::custom)
}
