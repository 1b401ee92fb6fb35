//! The commands of the protocol and their parsing.

use std::sync::OnceLock;

use pi_agent::QueueMode;
use pi_protocol::ImageContent;
use serde::de::value::MapDeserializer;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use pi_coding_agent::session::StreamingBehavior;

/// A command of the protocol.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[allow(missing_docs)] // The names are the protocol's; docs/rpc.md explains them.
pub enum Command {
    Prompt {
        message: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<ImageContent>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        streaming_behavior: Option<StreamingBehavior>,
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
        mode: QueueMode,
    },
    SetFollowUpMode {
        mode: QueueMode,
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
    /// Addition: name, version and capabilities of the agent.
    Hello {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<u32>,
    },
    /// Addition: the sessions of this directory, or of all directories.
    ListSessions {
        #[serde(default)]
        all: bool,
    },
    /// Addition: moves to another entry of the session tree.
    NavigateTree {
        entry_id: String,
        #[serde(default)]
        summarize: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        custom_instructions: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// Addition: labels an entry; without a label, removes its label.
    SetLabel {
        entry_id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
}

impl Command {
    /// Returns the names of all commands, in the order of the type.
    pub fn names() -> &'static [&'static str] {
        static NAMES: OnceLock<&'static [&'static str]> = OnceLock::new();
        NAMES.get_or_init(|| {
            // Deserialization of an unknown command reports the names that it expects.
            let unknown = MapDeserializer::new(std::iter::once(("type", "")));
            match Self::deserialize(unknown) {
                Err(ExpectedNames(names)) => names,
                Ok(_) => &[],
            }
        })
    }
}

/// An error of deserialization that keeps only the expected variants.
#[derive(Debug, thiserror::Error)]
#[error("unknown variant")]
struct ExpectedNames(&'static [&'static str]);

impl serde::de::Error for ExpectedNames {
    fn custom<T: std::fmt::Display>(_message: T) -> Self {
        Self(&[])
    }

    fn unknown_variant(_variant: &str, expected: &'static [&'static str]) -> Self {
        Self(expected)
    }
}

/// A line of input.
#[derive(Debug)]
pub enum Request {
    /// A command.
    Command {
        /// Identity that the response repeats.
        id: Option<Value>,
        /// Value of `type`, for the response.
        name: Option<Value>,
        /// The command, or the reason why it is invalid.
        command: Result<Box<Command>, String>,
    },
    /// The answer to a dialog.
    UiResponse {
        /// Identity of the dialog.
        id: String,
        /// The other fields.
        fields: Map<String, Value>,
    },
    /// A line that is not a request; the text says why.
    Unreadable(String),
}

impl Request {
    /// Parses a line.
    pub fn parse(line: &str) -> Self {
        let unreadable =
            |error: String| Self::Unreadable(format!("Failed to parse command: {error}"));
        let mut fields = match serde_json::from_str::<Value>(line) {
            Ok(Value::Object(fields)) => fields,
            // Other values have no type and no id.
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
        let command = if Command::names().contains(&name.as_str()) {
            parse_command(&name, &fields)
        } else {
            Err(format!("Unknown command: {name}"))
        };
        Self::Command { id, name: Some(name.into()), command }
    }
}

/// Parses a command of a known name. The error names the field at fault.
fn parse_command(name: &str, fields: &Map<String, Value>) -> Result<Box<Command>, String> {
    let error = match serde_json::from_value(Value::Object(fields.clone())) {
        Ok(command) => return Ok(Box::new(command)),
        Err(error) => error.to_string(),
    };
    match faulty_field(fields, &error) {
        Some(field) => Err(format!("Invalid {name} command: {field}: {error}")),
        None => Err(format!("Invalid {name} command: {error}")),
    }
}

/// Returns the field whose absence makes an error go away or change.
fn faulty_field(fields: &Map<String, Value>, error: &str) -> Option<String> {
    let names = fields.keys().filter(|name| *name != "type");
    for name in names {
        let mut without = fields.clone();
        without.remove(name);
        let same = serde_json::from_value::<Command>(Value::Object(without))
            .is_err_and(|other| other.to_string() == error);
        if !same {
            return Some(name.clone());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_derived_from_the_type() {
        let names = Command::names();
        assert_eq!(names.first(), Some(&"prompt"));
        assert_eq!(names.last(), Some(&"set_label"));
        assert!(names.contains(&"get_available_thinking_levels"));
        for name in names {
            let parsed = serde_json::from_value::<Command>(json!({ "type": name }));
            let unknown = parsed.is_err_and(|error| error.to_string().contains("unknown variant"));
            assert!(!unknown, "{name}");
        }
    }

    #[test]
    fn errors_name_the_field() {
        let cases = [
            (json!({"type": "prompt", "message": 1}), "Invalid prompt command: message: "),
            (json!({"type": "prompt"}), "Invalid prompt command: missing field `message`"),
            (
                json!({"type": "prompt", "message": "x", "streamingBehavior": "later"}),
                "Invalid prompt command: streamingBehavior: ",
            ),
            (
                json!({"type": "set_auto_retry", "enabled": "yes"}),
                "Invalid set_auto_retry command: enabled: ",
            ),
            (
                json!({"type": "set_steering_mode", "mode": "some"}),
                "Invalid set_steering_mode command: mode: ",
            ),
        ];
        for (line, expected) in cases {
            let Request::Command { command, .. } = Request::parse(&line.to_string()) else {
                panic!("{line} is a command");
            };
            let error = command.unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
