//! The files that a conversation read and modified. A summary lists them, so that the model need
//! not look for them again.

use std::collections::BTreeSet;

use pi_protocol::{AgentMessage, Effects, Extent, Message};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::EffectsResolver;

/// The files of the tool calls in a part of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileOps {
    /// Files whose content was read.
    pub read: BTreeSet<String>,
    /// Files that were modified, including those that an earlier summary lists.
    pub modified: BTreeSet<String>,
}

/// The files of a summary, as stored in its `details` and shown to the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FileLists {
    /// Files that were read and not modified, sorted.
    #[serde(rename = "readFiles")]
    pub read: Vec<String>,
    /// Files that were modified, sorted.
    #[serde(rename = "modifiedFiles")]
    pub modified: Vec<String>,
}

impl FileOps {
    /// Adds the calls of a message: those of an answer, or those that a tool made while it ran.
    pub fn add_message(&mut self, message: &AgentMessage, effects: &EffectsResolver) {
        match message {
            AgentMessage::Llm(Message::Assistant(answer)) => {
                for call in answer.tool_calls() {
                    self.add_effects(effects.of_call(call));
                }
            }
            AgentMessage::Llm(Message::ToolResult(result)) => {
                let nested = result.extra.get("nestedCalls").and_then(|nested| nested.get("calls"));
                let none = Map::new();
                for call in nested.and_then(Value::as_array).into_iter().flatten() {
                    let tool = call.get("name").and_then(Value::as_str).unwrap_or_default();
                    let arguments = call.get("arguments").and_then(Value::as_object);
                    self.add_effects(effects.resolve(tool, arguments.unwrap_or(&none)));
                }
            }
            _ => {}
        }
    }

    /// Adds the lists stored with an earlier summary.
    pub fn add_details(&mut self, details: &Value) {
        self.read.extend(texts(details.get("readFiles")));
        self.modified.extend(texts(details.get("modifiedFiles")));
    }

    /// Returns the lists for a summary.
    pub fn lists(&self) -> FileLists {
        let read = self.read.difference(&self.modified).cloned().collect();
        FileLists { read, modified: self.modified.iter().cloned().collect() }
    }

    fn add_effects(&mut self, effects: Effects) {
        let read = effects.reads.into_iter().filter(|file| file.extent == Extent::File);
        self.read.extend(read.map(|file| file.path));
        self.modified.extend(effects.writes.into_iter().map(|file| file.path));
    }
}

fn texts(list: Option<&Value>) -> impl Iterator<Item = String> {
    list.and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
}

impl FileLists {
    /// Returns the lists as the `details` of a branch summary.
    pub fn to_details(&self) -> Value {
        json!({ "readFiles": self.read, "modifiedFiles": self.modified })
    }

    /// Returns the lists as they end a summary; an empty list is left out.
    pub fn to_tags(&self) -> String {
        let block = |tag: &str, files: &[String]| match files {
            [] => String::new(),
            files => format!("\n\n<{tag}>\n{}\n</{tag}>", files.join("\n")),
        };
        block("read-files", &self.read) + &block("modified-files", &self.modified)
    }
}
