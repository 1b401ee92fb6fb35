//! What can be asked.

use pi_protocol::ImageContent;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How many waiting messages are taken at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// All of them.
    All,
    /// The oldest one.
    OneAtATime,
}

/// What is to happen to a prompt during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Behavior {
    /// It reaches the model as soon as possible.
    Steer,
    /// It waits until the run would end.
    FollowUp,
}

/// One thing that can be asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[allow(missing_docs)] // The names are the protocol's; docs/rpc.md explains them.
pub enum Command {
    Prompt {
        message: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<ImageContent>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        streaming_behavior: Option<Behavior>,
    },
    Steer {
        message: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<ImageContent>,
    },
    FollowUp {
        message: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<ImageContent>,
    },
    Abort,
    ClearQueue,
    NewSession {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_session: Option<String>,
    },
    GetState,
    SetModel {
        provider: String,
        model_id: String,
    },
    CycleModel,
    GetAvailableModels,
    SetThinkingLevel {
        level: String,
    },
    CycleThinkingLevel,
    GetAvailableThinkingLevels,
    SetSteeringMode {
        mode: Mode,
    },
    SetFollowUpMode {
        mode: Mode,
    },
    Compact {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        custom_instructions: Option<String>,
    },
    SetAutoCompaction {
        enabled: bool,
    },
    SetAutoRetry {
        enabled: bool,
    },
    AbortRetry,
    Bash {
        command: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exclude_from_context: Option<bool>,
    },
    AbortBash,
    GetSessionStats,
    ExportHtml {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output_path: Option<String>,
    },
    SwitchSession {
        session_path: String,
    },
    Fork {
        entry_id: String,
    },
    Clone,
    GetForkMessages,
    GetEntries {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<String>,
    },
    GetTree,
    GetLastAssistantText,
    SetSessionName {
        name: String,
    },
    GetMessages,
    GetCommands,
    /// Addition: who is there, and what it can do.
    Hello {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<u32>,
    },
    /// Addition: the conversations of this directory, or of all.
    ListSessions {
        #[serde(default)]
        all: bool,
    },
    /// Addition: goes elsewhere in the tree.
    NavigateTree {
        entry_id: String,
        #[serde(default)]
        summarize: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        custom_instructions: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// Addition: labels an entry; without a label, removes it.
    SetLabel {
        entry_id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
}

impl Command {
    /// The names of all commands.
    pub const NAMES: &'static [&'static str] = &[
        "prompt",
        "steer",
        "follow_up",
        "abort",
        "clear_queue",
        "new_session",
        "get_state",
        "set_model",
        "cycle_model",
        "get_available_models",
        "set_thinking_level",
        "cycle_thinking_level",
        "get_available_thinking_levels",
        "set_steering_mode",
        "set_follow_up_mode",
        "compact",
        "set_auto_compaction",
        "set_auto_retry",
        "abort_retry",
        "bash",
        "abort_bash",
        "get_session_stats",
        "export_html",
        "switch_session",
        "fork",
        "clone",
        "get_fork_messages",
        "get_entries",
        "get_tree",
        "get_last_assistant_text",
        "set_session_name",
        "get_messages",
        "get_commands",
        "hello",
        "list_sessions",
        "navigate_tree",
        "set_label",
    ];
}

/// A line of input.
#[derive(Debug)]
pub enum Request {
    /// Something is asked.
    Command {
        /// Comes back with the answer.
        id: Option<Value>,
        /// What stands for its name, for the answer.
        name: Option<Value>,
        /// What is asked, or why it cannot be.
        command: Result<Box<Command>, String>,
    },
    /// An answer to a question of ours.
    UiResponse {
        /// Which question.
        id: String,
        /// The rest of it.
        fields: Map<String, Value>,
    },
    /// It is no request at all.
    Unreadable(String),
}

impl Request {
    /// Reads a line.
    pub fn parse(line: &str) -> Self {
        let unreadable =
            |error: String| Self::Unreadable(format!("Failed to parse command: {error}"));
        let mut fields = match serde_json::from_str::<Value>(line) {
            Ok(Value::Object(fields)) => fields,
            // What is no object has no type, and no id.
            Ok(_) => Map::new(),
            Err(error) => return unreadable(error.to_string()),
        };
        let name = match fields.get("type") {
            Some(Value::String(name)) => name.clone(),
            _ => {
                let name = fields.remove("type");
                let shown = name.as_ref().map_or_else(|| "undefined".to_owned(), Value::to_string);
                let command = Err(format!("Unknown command: {shown}"));
                return Self::Command { id: fields.remove("id"), name, command };
            }
        };
        if name == "extension_ui_response" {
            let Some(Value::String(id)) = fields.remove("id") else {
                return unreadable(
                    "an extension_ui_response needs the \"id\" of its request".to_owned(),
                );
            };
            return Self::UiResponse { id, fields };
        }
        let id = fields.remove("id");
        let command = if Command::NAMES.contains(&name.as_str()) {
            serde_json::from_value(Value::Object(fields))
                .map(Box::new)
                .map_err(|error| format!("Invalid {name} command: {error}"))
        } else {
            Err(format!("Unknown command: {name}"))
        };
        Self::Command { id, name: Some(name.into()), command }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_command() {
        let known = |name: &str| {
            let error = serde_json::from_value::<Command>(serde_json::json!({"type": name}));
            !error.is_err_and(|error| error.to_string().contains("unknown variant"))
        };
        for name in Command::NAMES {
            assert!(known(name), "{name}");
        }
        assert!(!known("nope"));
    }
}
