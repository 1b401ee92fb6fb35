//! The message roles that a coding session adds to those of models, and their text for models.

use std::sync::Arc;

use pi_protocol::{
    AgentMessage, CustomMessage, Entry, EntryBody, Extra, Message, MessageContent, UserBlock,
    UserContent, UserMessage,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::time;

/// A command that the user ran, and its result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BashExecution {
    /// The shell command.
    pub command: String,
    /// The merged output, possibly truncated.
    #[serde(default)]
    pub output: String,
    /// The exit code; absent if the command was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// The user cancelled the command.
    #[serde(default)]
    pub cancelled: bool,
    /// The output is not complete.
    #[serde(default)]
    pub truncated: bool,
    /// Path of a file with the complete output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
    /// Milliseconds since the epoch.
    #[serde(default)]
    pub timestamp: f64,
    /// The model does not see the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude_from_context: Option<bool>,
    /// Fields unknown to this crate.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A message of an extension.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionMessage {
    /// The type that the extension chose for its messages.
    pub custom_type: String,
    /// Text and images for the model.
    #[serde(default)]
    pub content: UserContent,
    /// The message is displayed to the user.
    #[serde(default)]
    pub display: bool,
    /// Data of the extension, not seen by the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Milliseconds since the epoch.
    #[serde(default)]
    pub timestamp: f64,
    /// Fields unknown to this crate.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ExtensionMessage {
    /// Returns the message of an entry that contains one.
    pub fn from_entry(entry: &Entry) -> Option<Self> {
        let EntryBody::CustomMessage(body) = &entry.body else { return None };
        Some(Self {
            custom_type: body.custom_type.clone(),
            content: body.content.clone(),
            display: body.display,
            details: body.details.clone(),
            timestamp: time::parse_ms(&entry.timestamp).unwrap_or_default() as f64,
            ..Self::default()
        })
    }
}

/// The summary of an abandoned branch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummaryMessage {
    /// The text of the summary.
    pub summary: String,
    /// The last entry of that branch.
    #[serde(default)]
    pub from_id: String,
    /// Milliseconds since the epoch.
    #[serde(default)]
    pub timestamp: f64,
}

/// The summary that replaces compacted history.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionSummaryMessage {
    /// The text of the summary.
    pub summary: String,
    /// Estimated size of the context before the compaction, in tokens.
    #[serde(default)]
    pub tokens_before: f64,
    /// Milliseconds since the epoch.
    #[serde(default)]
    pub timestamp: f64,
}

impl CustomMessage for BashExecution {
    const ROLE: &'static str = "bashExecution";
}

impl CustomMessage for ExtensionMessage {
    const ROLE: &'static str = "custom";
}

impl CustomMessage for BranchSummaryMessage {
    const ROLE: &'static str = "branchSummary";
}

impl CustomMessage for CompactionSummaryMessage {
    const ROLE: &'static str = "compactionSummary";
}

/// Converts a message to the form that a model reads; `None` if the model does not see it.
pub fn to_llm(message: &AgentMessage) -> Option<Message> {
    if let AgentMessage::Llm(message) = message {
        return Some(message.clone());
    }
    match message.role() {
        BashExecution::ROLE => message.as_custom::<BashExecution>()?.to_llm(),
        ExtensionMessage::ROLE => {
            let message = message.as_custom::<ExtensionMessage>()?;
            let content = match message.content {
                MessageContent::Text(text) => vec![UserBlock::text(text)],
                MessageContent::Blocks(blocks) => blocks,
            };
            Some(user(MessageContent::Blocks(content), message.timestamp))
        }
        BranchSummaryMessage::ROLE => {
            let BranchSummaryMessage { summary, timestamp, .. } = message.as_custom()?;
            let text = format!(
                "The conversation returned to this point from another branch. Summary of that branch:\n\n<summary>\n{summary}</summary>"
            );
            Some(user_text(text, timestamp))
        }
        CompactionSummaryMessage::ROLE => {
            let CompactionSummaryMessage { summary, timestamp, .. } = message.as_custom()?;
            let text = format!(
                "The conversation before this point was compacted into this summary:\n\n<summary>\n{summary}\n</summary>"
            );
            Some(user_text(text, timestamp))
        }
        _ => None,
    }
}

impl BashExecution {
    fn to_llm(&self) -> Option<Message> {
        if self.exclude_from_context == Some(true) {
            return None;
        }
        let output = match self.output.as_str() {
            "" => "(no output)".to_owned(),
            output => format!("```\n{output}\n```"),
        };
        let mut text = format!("Ran `{}`\n{output}", self.command);
        if self.cancelled {
            text.push_str("\n\n(command cancelled)");
        } else if let Some(code) = self.exit_code.filter(|code| *code != 0) {
            text.push_str(&format!("\n\nCommand exited with code {code}"));
        }
        if self.truncated
            && let Some(path) = &self.full_output_path
        {
            text.push_str(&format!("\n\n[Output truncated. Full output: {path}]"));
        }
        Some(user_text(text, self.timestamp))
    }
}

fn user_text(text: String, timestamp: f64) -> Message {
    user(MessageContent::Blocks(vec![UserBlock::text(text)]), timestamp)
}

fn user(content: UserContent, timestamp: f64) -> Message {
    Message::User(Arc::new(UserMessage { content, timestamp, extra: Extra::new() }))
}
