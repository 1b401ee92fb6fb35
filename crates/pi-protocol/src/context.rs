//! The content of a request: the conversation so far.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{History, Message, MessageContent, SystemMessage, Tool, UserBlock};

/// A conversation for the model to continue.
///
/// Prompt and tools may be given here or as system messages inside `messages`;
/// [`Context::normalize`] turns the first form into the second.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Context {
    /// The system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// The messages, oldest first.
    #[serde(default)]
    pub messages: History<Message>,
    /// The tools that the model may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
}

impl Context {
    /// Creates an empty conversation.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the system prompt.
    #[must_use]
    pub fn system(mut self, prompt: impl Into<String>) -> Self {
        self.system_prompt = Some(prompt.into());
        self
    }

    /// Appends a user message.
    #[must_use]
    pub fn user(self, text: impl Into<String>) -> Self {
        self.message(Message::user(text))
    }

    /// Appends a user message made of blocks.
    #[must_use]
    pub fn user_blocks(self, blocks: Vec<UserBlock>) -> Self {
        self.message(Message::user_blocks(blocks))
    }

    /// Appends a message of any role.
    #[must_use]
    pub fn message(mut self, message: Message) -> Self {
        self.messages.push(message);
        self
    }

    /// Adds a tool that the model may call.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Moves prompt and tools into a leading system message, if there are any.
    #[must_use]
    pub fn normalize(self) -> Vec<Message> {
        let prompt = self.system_prompt.unwrap_or_default();
        if prompt.is_empty() && self.tools.is_empty() {
            return self.messages.iter().cloned().collect();
        }
        let system = Message::System(Arc::new(SystemMessage {
            content: MessageContent::Text(prompt),
            tools_added: self.tools,
            ..SystemMessage::default()
        }));
        std::iter::once(system).chain(self.messages.iter().cloned()).collect()
    }
}
