//! Entries: the lines of a session file.
//!
//! An entry is one step of a session: a message, a change of model, a compaction. It names its
//! parent, so the entries of a file form a tree. This module knows the shapes of entries; files,
//! trees and contexts belong to `pi-session`.
//!
//! Reading never fails on an entry that has an id: an entry of an unknown type, or of a known type
//! in an unknown shape, is [`EntryBody::Unknown`] and keeps all its fields.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::json::{from_str_lossy, lenient};
use crate::{AgentMessage, Extra, SystemMessage, Usage, UserContent, number};

/// The first line of a session file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionHeader {
    /// The value of `type`, which is always `session`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Version of the format; absent in the oldest files, which are version 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// Id of the session.
    pub id: String,
    /// Time of creation, ISO 8601.
    #[serde(default)]
    pub timestamp: String,
    /// The working directory.
    #[serde(default)]
    pub cwd: String,
    /// The session file from which this session was forked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
    /// Fields unknown to this crate.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A line of a session file after the header.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Id of the entry, unique in the file; usually eight hexadecimal digits.
    pub id: String,
    /// Id of the entry that this one follows; `None` for a root.
    pub parent_id: Option<String>,
    /// Time at which the entry was appended, ISO 8601.
    pub timestamp: String,
    /// The content, which depends on the type of the entry.
    pub body: EntryBody,
    /// Fields unknown to this crate.
    pub extra: Extra,
}

/// The content of an [`Entry`], by type.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum EntryBody {
    /// A message of the conversation.
    Message(AgentMessage),
    /// A change of the thinking level.
    ThinkingLevelChange {
        /// Name of the new level.
        thinking_level: String,
    },
    /// A change of the model.
    ModelChange {
        /// Provider id of the new model.
        provider: String,
        /// Id of the new model.
        model_id: String,
    },
    /// Tokens that were not spent on a message.
    Usage(Box<UsageRecord>),
    /// A summary that replaces older history.
    Compaction(Box<Compaction>),
    /// A summary of a branch that was left.
    BranchSummary(Box<BranchSummary>),
    /// State of an extension; never part of the context.
    Custom {
        /// Type name, chosen by the extension.
        custom_type: String,
        /// State of the extension.
        data: Option<Value>,
    },
    /// A message of an extension; part of the context.
    CustomMessage(Box<CustomEntryMessage>),
    /// A change of the contribution of an earlier entry to the context.
    ContextEdit(ContextEdit),
    /// A label on another entry.
    Label {
        /// Id of the labeled entry.
        target_id: String,
        /// The label; absent or empty removes the label.
        label: Option<String>,
    },
    /// Information about the whole session.
    SessionInfo {
        /// Name of the session; empty for none.
        name: Option<String>,
    },
    /// An unknown entry; its fields are in [`Entry::extra`].
    Unknown {
        /// The value of `type`.
        kind: String,
    },
}

/// The body of a `usage` entry.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageRecord {
    /// The purpose of the request, for example `cache_warm`.
    #[serde(default)]
    pub kind: String,
    /// The provider's id.
    #[serde(default)]
    pub provider: String,
    /// The model's id.
    #[serde(default)]
    pub model: String,
    /// Token counts and their cost.
    #[serde(default)]
    pub usage: Usage,
    /// A remark for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The body of a `compaction` entry. A field of the wrong shape counts as absent: even a damaged
/// compaction still marks the history before it as too large for the context.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Compaction {
    /// The text that replaces the dropped history.
    #[serde(default, deserialize_with = "or_default")]
    pub summary: String,
    /// Id of the first entry that is kept; the compaction's own id if none is kept.
    #[serde(default, deserialize_with = "or_default")]
    pub first_kept_entry_id: String,
    /// Estimated size of the context before the compaction.
    #[serde(default, serialize_with = "number::js::serialize", deserialize_with = "or_default")]
    pub tokens_before: f64,
    /// Files read and modified and the result of the checks, or data of an extension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Tokens and cost of writing the summary.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "lenient")]
    pub usage: Option<Usage>,
    /// True if an extension wrote the summary.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "lenient")]
    pub from_hook: Option<bool>,
    /// The prompt and the tools in force at this point.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "system_message")]
    pub system_message: Option<Arc<SystemMessage>>,
}

/// The body of a `branch_summary` entry.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummary {
    /// The leaf of the branch that was left, or `root`.
    #[serde(default)]
    pub from_id: String,
    /// Summary of the branch.
    pub summary: String,
    /// Files read and modified, or data of an extension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Tokens and cost of writing the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// True if an extension wrote the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_hook: Option<bool>,
}

/// The body of a `custom_message` entry.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomEntryMessage {
    /// Type name, chosen by the extension.
    pub custom_type: String,
    /// The text and images for the model.
    #[serde(default, deserialize_with = "or_default")]
    pub content: UserContent,
    /// True if the message is shown to the user.
    #[serde(default)]
    pub display: bool,
    /// Data for the program that renders the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// The body of a `context_edit` entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextEdit {
    /// Id of the entry whose contribution changes.
    pub target_id: String,
    /// The new contribution; `None` removes the entry from the context.
    #[serde(default)]
    pub replacement: Option<Replacement>,
}

/// The contribution of an edited entry to the context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replacement {
    /// Text, or blocks that fit the role of the target.
    #[serde(default)]
    pub content: Value,
    /// Fields unknown to this crate.
    #[serde(flatten)]
    pub extra: Extra,
}

impl SessionHeader {
    /// The version of the format that this crate writes.
    pub const VERSION: u64 = 3;

    /// Creates the header of a new session.
    pub fn new(id: String, timestamp: String, cwd: String, parent: Option<String>) -> Self {
        Self {
            kind: "session".to_owned(),
            version: Some(Self::VERSION),
            id,
            timestamp,
            cwd,
            parent_session: parent,
            extra: Extra::new(),
        }
    }
}

impl ContextEdit {
    /// Creates an edit of the entry `target_id`.
    pub fn new(target_id: impl Into<String>, content: Option<Value>) -> Self {
        let replacement = content.map(|content| Replacement { content, extra: Extra::new() });
        Self { target_id: target_id.into(), replacement }
    }
}

impl Entry {
    /// Reads one line of a session file.
    pub fn from_json(line: &str) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Wire<'a> {
            #[serde(default, rename = "type")]
            kind: String,
            id: String,
            #[serde(default)]
            parent_id: Option<String>,
            #[serde(default)]
            timestamp: String,
            // Parsed directly into its own type, since messages are nearly all of a session file.
            #[serde(default, borrow)]
            message: Option<&'a RawValue>,
            #[serde(flatten)]
            rest: Map<String, Value>,
        }
        let Ok(wire) = serde_json::from_str::<Wire<'_>>(line) else {
            return from_str_lossy(line);
        };
        let mut rest = wire.rest;
        let mut kind = wire.kind;
        let body = match wire.message {
            Some(message) if kind == "message" && is_object(message) => {
                EntryBody::Message(AgentMessage::from_json(message.get())?)
            }
            Some(message) => {
                rest.insert("message".to_owned(), serde_json::from_str(message.get())?);
                EntryBody::from_fields(std::mem::take(&mut kind), &mut rest)
            }
            None => EntryBody::from_fields(std::mem::take(&mut kind), &mut rest),
        };
        Ok(Self {
            id: wire.id,
            parent_id: wire.parent_id,
            timestamp: wire.timestamp,
            body,
            extra: rest.into(),
        })
    }

    /// Returns the message of a `message` entry.
    pub fn message(&self) -> Option<&AgentMessage> {
        match &self.body {
            EntryBody::Message(message) => Some(message),
            _ => None,
        }
    }
}

fn is_object(raw: &RawValue) -> bool {
    raw.get().starts_with('{')
}

impl EntryBody {
    /// Returns the value of `type`.
    pub fn kind(&self) -> &str {
        match self {
            Self::Message(_) => "message",
            Self::ThinkingLevelChange { .. } => "thinking_level_change",
            Self::ModelChange { .. } => "model_change",
            Self::Usage(_) => "usage",
            Self::Compaction(_) => "compaction",
            Self::BranchSummary(_) => "branch_summary",
            Self::Custom { .. } => "custom",
            Self::CustomMessage(_) => "custom_message",
            Self::ContextEdit(_) => "context_edit",
            Self::Label { .. } => "label",
            Self::SessionInfo { .. } => "session_info",
            Self::Unknown { kind } => kind,
        }
    }

    /// Moves the body of an entry of type `kind` out of its fields; unused fields stay.
    fn from_fields(kind: String, fields: &mut Map<String, Value>) -> Self {
        let understood = match kind.as_str() {
            "message" => Self::take_message(fields),
            "thinking_level_change" => take_text(fields, "thinkingLevel")
                .map(|thinking_level| Self::ThinkingLevelChange { thinking_level }),
            "model_change" => Self::take_model_change(fields),
            "usage" => take_struct::<UsageRecord>(fields).map(|body| Self::Usage(Box::new(body))),
            "compaction" => {
                take_struct::<Compaction>(fields).map(|body| Self::Compaction(Box::new(body)))
            }
            "branch_summary" => {
                take_struct::<BranchSummary>(fields).map(|body| Self::BranchSummary(Box::new(body)))
            }
            "custom" => take_text(fields, "customType")
                .map(|custom_type| Self::Custom { custom_type, data: fields.shift_remove("data") }),
            "custom_message" => take_struct::<CustomEntryMessage>(fields)
                .map(|body| Self::CustomMessage(Box::new(body))),
            "context_edit" => take_struct::<ContextEdit>(fields).map(Self::ContextEdit),
            "label" => take_text(fields, "targetId")
                .map(|target_id| Self::Label { target_id, label: take_text(fields, "label") }),
            "session_info" => Some(Self::SessionInfo { name: take_text(fields, "name") }),
            _ => None,
        };
        understood.unwrap_or(Self::Unknown { kind })
    }

    fn take_message(fields: &mut Map<String, Value>) -> Option<Self> {
        let message = AgentMessage::deserialize(fields.get("message")?).ok()?;
        fields.shift_remove("message");
        Some(Self::Message(message))
    }

    fn take_model_change(fields: &mut Map<String, Value>) -> Option<Self> {
        if !fields.get("provider").is_some_and(Value::is_string) {
            return None;
        }
        let model_id = take_text(fields, "modelId")?;
        take_text(fields, "provider").map(|provider| Self::ModelChange { provider, model_id })
    }

    /// Serializes the fields of the body.
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        match self {
            Self::Message(message) => map.serialize_entry("message", message),
            Self::ThinkingLevelChange { thinking_level } => {
                map.serialize_entry("thinkingLevel", thinking_level)
            }
            Self::ModelChange { provider, model_id } => {
                map.serialize_entry("provider", provider)?;
                map.serialize_entry("modelId", model_id)
            }
            Self::Usage(body) => write_struct(map, body),
            Self::Compaction(body) => write_struct(map, body),
            Self::BranchSummary(body) => write_struct(map, body),
            Self::Custom { custom_type, data } => {
                map.serialize_entry("customType", custom_type)?;
                data.iter().try_for_each(|data| map.serialize_entry("data", data))
            }
            Self::CustomMessage(body) => write_struct(map, body),
            Self::ContextEdit(body) => write_struct(map, body),
            Self::Label { target_id, label } => {
                map.serialize_entry("targetId", target_id)?;
                label.iter().try_for_each(|label| map.serialize_entry("label", label))
            }
            Self::SessionInfo { name } => {
                name.iter().try_for_each(|name| map.serialize_entry("name", name))
            }
            Self::Unknown { .. } => Ok(()),
        }
    }
}

/// Removes and returns a text field; a field that is not text stays.
fn take_text(fields: &mut Map<String, Value>, name: &str) -> Option<String> {
    fields.get(name).filter(|value| value.is_string())?;
    match fields.shift_remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// Reads a body out of `fields` and leaves the unknown fields there.
fn take_struct<T: DeserializeOwned + Serialize>(fields: &mut Map<String, Value>) -> Option<T> {
    let body = T::deserialize(&*fields).ok()?;
    for (known, _) in serde_json::to_value(&body).ok()?.as_object()? {
        fields.shift_remove(known);
    }
    Some(body)
}

fn write_struct<M: SerializeMap, T: Serialize>(map: &mut M, body: &T) -> Result<(), M::Error> {
    let fields = serde_json::to_value(body).map_err(serde::ser::Error::custom)?;
    let fields = fields.as_object().into_iter().flatten();
    fields.into_iter().try_for_each(|(name, value)| map.serialize_entry(name, value))
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.body.kind())?;
        // The TypeScript pi writes the fields of these two types in another order.
        let body_first =
            matches!(self.body, EntryBody::Custom { .. } | EntryBody::CustomMessage(_));
        if body_first {
            self.body.write(&mut map)?;
        }
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("parentId", &self.parent_id)?;
        map.serialize_entry("timestamp", &self.timestamp)?;
        if !body_first {
            self.body.write(&mut map)?;
        }
        self.extra.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Map::<String, Value>::deserialize(deserializer)?;
        let missing = |name| serde::de::Error::custom(format!("an entry without {name}"));
        let kind = take_text(&mut fields, "type").unwrap_or_default();
        let id = take_text(&mut fields, "id").ok_or_else(|| missing("an id"))?;
        let parent_id = take_text(&mut fields, "parentId");
        if parent_id.is_none() {
            fields.shift_remove("parentId");
        }
        let timestamp = take_text(&mut fields, "timestamp").unwrap_or_default();
        let body = EntryBody::from_fields(kind, &mut fields);
        Ok(Self { id, parent_id, timestamp, body, extra: fields.into() })
    }
}

/// Deserializes leniently: a value of the wrong shape is the default.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + DeserializeOwned,
{
    Ok(lenient(deserializer)?.unwrap_or_default())
}

/// `systemMessage` is a whole message, role included.
mod system_message {
    use super::{AgentMessage, Arc, SystemMessage};
    use crate::Message;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        message: &Option<Arc<SystemMessage>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        message.clone().map(Message::System).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Arc<SystemMessage>>, D::Error> {
        Ok(match Option::<AgentMessage>::deserialize(deserializer)? {
            Some(AgentMessage::Llm(Message::System(message))) => Some(message),
            _ => None,
        })
    }
}
