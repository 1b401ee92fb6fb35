//! The message roles that a coding session adds to those of models, and what models read of them.

use std::sync::Arc;

use pi_protocol::{
    AgentMessage, CustomMessage, Extra, Message, MessageContent, UserBlock, UserContent,
    UserMessage,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A command that the user ran, and its output.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BashExecution {
    /// The command.
    pub command: String,
    /// What it printed.
    #[serde(default)]
    pub output: String,
    /// How it ended; absent if it was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// The user stopped it.
    #[serde(default)]
    pub cancelled: bool,
    /// There was more output.
    #[serde(default)]
    pub truncated: bool,
    /// Where all of it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
    /// Milliseconds since the epoch.
    #[serde(default)]
    pub timestamp: f64,
    /// The model is not told.
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
    /// Whose it is.
    pub custom_type: String,
    /// Text and images for the model.
    #[serde(default)]
    pub content: UserContent,
    /// Whether people are shown it.
    #[serde(default)]
    pub display: bool,
    /// Facts for the program that shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Milliseconds since the epoch.
    #[serde(default)]
    pub timestamp: f64,
    /// Fields unknown to this crate.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What happened on a branch that was left.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummaryMessage {
    /// The summary.
    pub summary: String,
    /// The leaf of that branch.
    #[serde(default)]
    pub from_id: String,
    /// Milliseconds since the epoch.
    #[serde(default)]
    pub timestamp: f64,
}

/// What the conversation was about before it was compacted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionSummaryMessage {
    /// The summary.
    pub summary: String,
    /// The size of the context before, estimated.
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

/// What a model reads of a message; `None` for nothing.
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
                "The conversation came back here from another branch. What happened there:\n\n<summary>\n{summary}</summary>"
            );
            Some(user_text(text, timestamp))
        }
        CompactionSummaryMessage::ROLE => {
            let CompactionSummaryMessage { summary, timestamp, .. } = message.as_custom()?;
            let text = format!(
                "What was said before this point has been compacted. This summary stands for it:\n\n<summary>\n{summary}\n</summary>"
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
        if let Some(path) = self.full_output_path.as_ref().filter(|_| self.truncated) {
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
