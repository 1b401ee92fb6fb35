//! Which files a conversation read and changed. A summary tells the model, so that it need not
//! look everywhere again.

use std::collections::BTreeSet;

use pi_protocol::{AgentMessage, Message};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The files that tool calls named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileOps {
    /// Of `read`.
    pub read: BTreeSet<String>,
    /// Of `write`.
    pub written: BTreeSet<String>,
    /// Of `edit`, and what an earlier summary lists as modified.
    pub edited: BTreeSet<String>,
}

/// The files of a summary, as they are stored with it and shown to the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileLists {
    /// Read and not modified, sorted.
    #[serde(rename = "readFiles")]
    pub read: Vec<String>,
    /// Written or edited, sorted.
    #[serde(rename = "modifiedFiles")]
    pub modified: Vec<String>,
}

impl FileOps {
    /// Takes in the calls that a message contains: those of an answer, or those that a tool made
    /// while it ran.
    pub fn add_message(&mut self, message: &AgentMessage) {
        match message {
            AgentMessage::Llm(Message::Assistant(answer)) => {
                for call in answer.tool_calls() {
                    self.add_call(&call.name, call.arguments.get("path"));
                }
            }
            AgentMessage::Llm(Message::ToolResult(result)) => {
                let nested = result.extra.get("nestedCalls").and_then(|nested| nested.get("calls"));
                for call in nested.and_then(Value::as_array).into_iter().flatten() {
                    let name = call.get("name").and_then(Value::as_str).unwrap_or_default();
                    self.add_call(name, call.pointer("/arguments/path"));
                }
            }
            _ => {}
        }
    }

    /// Takes in the lists stored with an earlier summary.
    pub fn add_details(&mut self, details: &Value) {
        self.read.extend(texts(details.get("readFiles")));
        self.edited.extend(texts(details.get("modifiedFiles")));
    }

    /// The lists for a summary.
    pub fn lists(&self) -> FileLists {
        let modified: BTreeSet<&String> = self.edited.union(&self.written).collect();
        let read = self.read.iter().filter(|path| !modified.contains(path)).cloned().collect();
        FileLists { read, modified: modified.into_iter().cloned().collect() }
    }

    fn add_call(&mut self, tool: &str, path: Option<&Value>) {
        let Some(path) = path.and_then(Value::as_str) else { return };
        let files = match tool {
            "read" => &mut self.read,
            "write" => &mut self.written,
            "edit" => &mut self.edited,
            _ => return,
        };
        files.insert(path.to_owned());
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

    /// The lists as they end a summary; nothing for an empty list.
    pub fn to_tags(&self) -> String {
        let block = |tag: &str, files: &[String]| match files {
            [] => String::new(),
            files => format!("\n\n<{tag}>\n{}\n</{tag}>", files.join("\n")),
        };
        block("read-files", &self.read) + &block("modified-files", &self.modified)
    }
}
