//! The sections and tools in force, as the system messages of a transcript declare them.
//!
//! The first system message of a transcript declares prompt and tools, later ones patch them.
//! This module replays these messages.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::{Message, MessageContent, SystemMessage, TextContent, Tool};

/// The system prompt and the tools in force after replaying some messages.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Declarations {
    /// The prompt texts in order, without empty ones.
    pub content: Vec<String>,
    /// The named sections in force, in order of first declaration.
    pub sections: Map<String, Value>,
    /// The tools in force. A tool that is declared again keeps its position; a tool that is removed
    /// and added again moves to the end.
    pub tools: Vec<Tool>,
    /// The timestamp of the first system message.
    pub timestamp: Option<f64>,
}

/// The tool declarations that an API accepts in the middle of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolPlacement {
    /// None: the top-level list has the tools in force at the end.
    TopLevel,
    /// Additions. The top-level list has everything up to the last removal or redeclaration.
    Additions,
    /// Additions and removals. The top-level list has the tools of the first system message.
    Changes,
}

/// Tool declarations split by [`Declarations::place_tools`].
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct PlacedTools {
    /// The tools of the top-level list.
    pub top_level: Vec<Tool>,
    /// Index of the first message whose declarations are sent in place.
    pub in_place_from: usize,
}

impl Declarations {
    /// Replays the system messages among `messages`.
    pub fn replay<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Self {
        let mut state = Self::default();
        for message in messages {
            if let Message::System(system) = message {
                state.apply(system);
            }
        }
        state
    }

    /// Applies one more system message.
    pub fn apply(&mut self, system: &SystemMessage) {
        self.timestamp.get_or_insert(system.timestamp);
        let text = system.content.joined();
        if !text.is_empty() {
            self.content.push(text);
        }
        for (name, value) in system.sections.iter().flatten() {
            if value.is_null() {
                self.sections.shift_remove(name);
            } else {
                self.sections.insert(name.clone(), value.clone());
            }
        }
        self.tools.retain(|tool| !system.tools_removed.iter().any(|gone| gone.name == tool.name));
        for added in &system.tools_added {
            match self.tools.iter_mut().find(|tool| tool.name == added.name) {
                Some(tool) => tool.clone_from(added),
                None => self.tools.push(added.clone()),
            }
        }
    }

    /// Returns the whole prompt: texts, then sections, separated by blank lines.
    pub fn prompt(&self) -> String {
        let sections = self.sections.values().filter_map(Value::as_str);
        let parts = self.content.iter().map(String::as_str).chain(sections);
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    /// Collapses all system messages into one leading message, for APIs that accept only one.
    pub fn collapse(messages: &[Message]) -> Vec<Message> {
        let state = Self::replay(messages);
        let others = messages.iter().filter(|message| !matches!(message, Message::System(_)));
        let Some(timestamp) = state.timestamp else { return others.cloned().collect() };
        let system = Message::System(Arc::new(SystemMessage {
            content: MessageContent::Text(state.prompt()),
            tools_added: state.tools,
            timestamp,
            ..SystemMessage::default()
        }));
        std::iter::once(system).chain(others.cloned()).collect()
    }

    /// Splits tool declarations between the top-level list and the messages that follow.
    pub fn place_tools(messages: &[Message], placement: ToolPlacement) -> PlacedTools {
        let in_place_from = match placement {
            ToolPlacement::TopLevel => messages.len(),
            ToolPlacement::Additions => last_rewrite(messages)
                .map_or_else(|| first_system(messages), |last_rewrite| last_rewrite + 1),
            ToolPlacement::Changes => first_system(messages),
        };
        let top_level = Self::replay(&messages[..in_place_from]).tools;
        PlacedTools { top_level, in_place_from }
    }
}

/// Returns 1 if the conversation begins with a system message, else 0.
fn first_system(messages: &[Message]) -> usize {
    usize::from(matches!(messages.first(), Some(Message::System(_))))
}

/// Returns the index of the last message that removes a tool or declares a name again.
fn last_rewrite(messages: &[Message]) -> Option<usize> {
    let mut declared: Vec<&str> = Vec::new();
    let mut last = None;
    for (index, message) in messages.iter().enumerate() {
        let Message::System(system) = message else { continue };
        let redeclares =
            system.tools_added.iter().any(|tool| declared.contains(&tool.name.as_str()));
        if redeclares || !system.tools_removed.is_empty() {
            last = Some(index);
        }
        declared.extend(system.tools_added.iter().map(|tool| tool.name.as_str()));
    }
    last
}

/// Renders a later system message as text, for APIs that accept system messages anywhere.
pub fn render_system_update(system: &SystemMessage) -> String {
    let content = system.content.joined();
    let sections = system.sections.iter().flatten().map(|(name, value)| match value.as_str() {
        Some(text) => format!("Updated system prompt section \"{name}\":\n\n{text}"),
        None => format!("Removed system prompt section \"{name}\"."),
    });
    std::iter::once(content)
        .chain(sections)
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("\n\n")
}

impl SystemMessage {
    /// Returns the prompt of this message alone: its text, then its sections.
    pub fn prompt(&self) -> String {
        let mut state = Declarations::default();
        state.apply(self);
        state.prompt()
    }
}

impl MessageContent<TextContent> {
    /// Returns the text; blocks are separated by a line break.
    pub fn joined(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Blocks(blocks) => blocks
                .iter()
                .map(|block| block.text.as_str())
                .filter(|text| !text.is_empty())
                .collect::<Vec<_>>()
                .join("\n"),
        }
    }
}
