//! The messages that the entries of a branch contribute to the context of a model. Pure.

use std::collections::HashMap;
use std::sync::Arc;

use pi_protocol::{
    AgentMessage, AssistantBlock, ContextEdit, Entry, EntryBody, Message, MessageContent,
    UserBlock, UserContent,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::roles::{BranchSummaryMessage, CompactionSummaryMessage, ExtensionMessage};
use crate::time;

/// An entry and the messages that it contributes to the context.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ProjectedEntry {
    /// The entry, as it is in the file.
    pub entry: Entry,
    /// The messages, with edits applied. Empty for state, labels and messages that were removed.
    pub messages: Vec<AgentMessage>,
}

/// The model that a branch last used or selected, by the ids of provider and model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)] // The fields are named in the comment on the type.
pub struct ModelRef {
    pub provider: String,
    pub model_id: String,
}

/// Projects the entries of a branch, root first.
pub fn project(path: Vec<Entry>) -> Vec<ProjectedEntry> {
    project_selected(select(path))
}

/// Projects entries that are part of the context.
pub(crate) fn project_selected(selected: Vec<Entry>) -> Vec<ProjectedEntry> {
    let edits: HashMap<String, ContextEdit> = selected
        .iter()
        .filter_map(|entry| match &entry.body {
            EntryBody::ContextEdit(edit) => Some((edit.target_id.clone(), edit.clone())),
            _ => None,
        })
        .collect();
    let compaction = selected.first().map(|entry| entry.id.clone());
    selected
        .into_iter()
        .map(|entry| {
            // The last of several compactions supersedes the others.
            let superseded = matches!(entry.body, EntryBody::Compaction(_))
                && compaction.as_ref() != Some(&entry.id);
            let messages =
                if superseded { Vec::new() } else { messages(&entry, edits.get(&entry.id)) };
            ProjectedEntry { entry, messages }
        })
        .collect()
}

/// Selects the entries of the context: the last compaction, the entries it kept, and those after it.
fn select(path: Vec<Entry>) -> Vec<Entry> {
    let compaction = path.iter().enumerate().rev().find_map(|(at, entry)| {
        let EntryBody::Compaction(compaction) = &entry.body else { return None };
        let first_kept = &compaction.first_kept_entry_id;
        Some((at, path[..at].iter().position(|entry| entry.id == *first_kept).unwrap_or(at)))
    });
    let system: Vec<bool> = path.iter().map(is_system).collect();
    let mut path: Vec<Option<Entry>> = path.into_iter().map(Some).collect();
    let positions = context_positions(path.len(), compaction, |at| system[at]);
    positions.filter_map(|at| path[at].take()).collect()
}

/// Returns the positions in a path of `len` entries that are part of the context. `compaction` is
/// the position of the last compaction and of the first entry that it keeps. Kept system messages
/// are left out: the compaction has a system message of its own.
pub(crate) fn context_positions(
    len: usize,
    compaction: Option<(usize, usize)>,
    is_system: impl Fn(usize) -> bool,
) -> impl Iterator<Item = usize> {
    let kept = compaction.map_or(0..0, |(at, kept)| kept..at);
    let after = compaction.map_or(0, |(at, _)| at + 1)..len;
    let compaction = compaction.map(|(at, _)| at);
    compaction.into_iter().chain(kept.filter(move |at| !is_system(*at))).chain(after)
}

fn is_system(entry: &Entry) -> bool {
    matches!(entry.message(), Some(AgentMessage::Llm(Message::System(_))))
}

/// Returns the messages of one entry with its last edit applied.
pub(crate) fn messages(entry: &Entry, edit: Option<&ContextEdit>) -> Vec<AgentMessage> {
    let original = unedited(entry);
    let Some(edit) = edit else { return original };
    match &edit.replacement {
        None => Vec::new(),
        Some(replacement) => original
            .into_iter()
            .map(|message| with_content(message, &replacement.content))
            .collect(),
    }
}

fn unedited(entry: &Entry) -> Vec<AgentMessage> {
    let timestamp = time::parse_ms(&entry.timestamp).unwrap_or_default() as f64;
    let custom = match &entry.body {
        EntryBody::Message(message) => return vec![message.clone()],
        EntryBody::CustomMessage(_) => {
            AgentMessage::custom(&ExtensionMessage::from_entry(entry).unwrap_or_default())
        }
        EntryBody::BranchSummary(body) if !body.summary.is_empty() => {
            let (summary, from_id) = (body.summary.clone(), body.from_id.clone());
            AgentMessage::custom(&BranchSummaryMessage { summary, from_id, timestamp })
        }
        EntryBody::Compaction(body) => {
            let (summary, tokens_before) = (body.summary.clone(), body.tokens_before);
            let message = CompactionSummaryMessage { summary, tokens_before, timestamp };
            let system = body.system_message.clone().map(|system| Message::System(system).into());
            let summary = AgentMessage::custom(&message).ok();
            return system.into_iter().chain(summary).collect();
        }
        _ => return Vec::new(),
    };
    // These types always serialize to an object.
    custom.into_iter().collect()
}

/// Replaces the content of a message; unchanged if the content does not fit its role.
fn with_content(message: AgentMessage, content: &Value) -> AgentMessage {
    match message {
        AgentMessage::Llm(Message::User(mut user)) => {
            if let Some(content) = read::<UserContent>(content) {
                Arc::make_mut(&mut user).content = content;
            }
            Message::User(user).into()
        }
        AgentMessage::Llm(Message::Assistant(mut assistant)) => {
            if let Some(blocks) = read_blocks::<AssistantBlock>(content) {
                Arc::make_mut(&mut assistant).content = blocks;
            }
            Message::Assistant(assistant).into()
        }
        AgentMessage::Llm(Message::ToolResult(mut result)) => {
            if let Some(blocks) = read_blocks::<UserBlock>(content) {
                Arc::make_mut(&mut result).content = blocks;
            }
            Message::ToolResult(result).into()
        }
        AgentMessage::Custom(mut fields) if fields.contains_key("content") => {
            Arc::make_mut(&mut fields).insert("content".to_owned(), content.clone());
            AgentMessage::Custom(fields)
        }
        other => other,
    }
}

/// Reads blocks; a text becomes one text block.
fn read_blocks<Block: DeserializeOwned>(content: &Value) -> Option<Vec<Block>> {
    match content {
        Value::String(text) => read(&text_block(text)),
        other => read(other),
    }
}

/// Reads content if it is of this type; `null` is empty content.
fn read<T: DeserializeOwned>(value: &Value) -> Option<T> {
    match value {
        Value::Null => T::deserialize(json!([])).ok(),
        other => T::deserialize(other).ok(),
    }
}

/// Returns true if the content of this entry can be edited in the context.
pub(crate) fn is_editable(entry: &Entry) -> bool {
    match &entry.body {
        EntryBody::CustomMessage(_) => true,
        EntryBody::Message(AgentMessage::Llm(message)) => !matches!(message, Message::System(_)),
        _ => false,
    }
}

/// Converts content to the form that the role of an edited entry requires: answers and results
/// consist of blocks.
pub(crate) fn fit_content(entry: &Entry, content: Value) -> Value {
    match (entry.message(), content) {
        (
            Some(AgentMessage::Llm(Message::Assistant(_) | Message::ToolResult(_))),
            Value::String(text),
        ) => text_block(&text),
        (_, content) => content,
    }
}

fn text_block(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}

/// Returns the text of a message, without images.
pub fn text_of(content: &UserContent) -> String {
    match content {
        MessageContent::Text(text) => text.clone(),
        MessageContent::Blocks(blocks) => blocks.iter().filter_map(UserBlock::as_text).collect(),
    }
}
