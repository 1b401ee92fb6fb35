//! What a program registers: its answer to `load`.

use std::sync::{Arc, Weak};

use pi_agent::{AgentTool, BoxFuture, Invocation, ToolError, ToolOutput};
use pi_coding_agent::extension::{
    Command, ExtensionApi, ExtensionError, Flag, FlagKind, FlagValue, QuestionKind, Shortcut,
    ToolRegistration, command_handler,
};
use pi_protocol::Tool;
use serde::Deserialize;
use serde_json::{Value, json};

use super::connection::Connection;
use crate::registered::output_from_json;

/// The answer to `load`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Registrations {
    #[serde(default)]
    events: Vec<String>,
    #[serde(default)]
    tools: Vec<ToolDefinition>,
    #[serde(default)]
    commands: Vec<CommandDefinition>,
    #[serde(default)]
    shortcuts: Vec<ShortcutDefinition>,
    #[serde(default)]
    flags: Vec<FlagDefinition>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolDefinition {
    #[serde(default)]
    label: Option<String>,
    #[serde(default)]
    prompt_snippet: Option<String>,
    #[serde(default)]
    prompt_guidelines: Vec<String>,
    #[serde(flatten)]
    declaration: Tool,
}

#[derive(Deserialize)]
struct CommandDefinition {
    name: String,
    #[serde(default)]
    description: String,
}

#[derive(Deserialize)]
struct ShortcutDefinition {
    key: String,
    #[serde(default)]
    description: Option<String>,
}

#[derive(Deserialize)]
struct FlagDefinition {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    default: Value,
    #[serde(default)]
    description: Option<String>,
}

impl Registrations {
    /// Registers everything and returns the events that the program receives.
    pub(super) fn register(
        self,
        api: &ExtensionApi,
        connection: &Arc<Connection>,
    ) -> Result<Vec<String>, ExtensionError> {
        for kind in QuestionKind::ALL {
            if self.events.iter().any(|event| event == kind.name()) {
                api.answer(*kind);
            }
        }
        if self.events.iter().any(|event| crate::host::is_progress(event)) {
            api.receive_progress();
        }
        // Registrations do not keep the program running after the extension is gone.
        let weak = Arc::downgrade(connection);
        for definition in self.tools {
            let tool = ProcessTool { connection: weak.clone(), definition };
            api.register_tool(ToolRegistration::new(Arc::new(tool)))?;
        }
        for CommandDefinition { name, description } in self.commands {
            let (connection, called) = (weak.clone(), name.clone());
            let run = move |arguments: String, context| {
                let params = json!({ "name": called, "arguments": arguments });
                run("command", params, connection.clone(), context)
            };
            api.register_command(Command::new(name, description, run))?;
        }
        for ShortcutDefinition { key, description } in self.shortcuts {
            let (connection, pressed) = (weak.clone(), key.clone());
            let handler = command_handler(move |_, context| {
                run("shortcut", json!({ "key": pressed }), connection.clone(), context)
            });
            api.register_shortcut(Shortcut { key, description, handler });
        }
        for flag in self.flags {
            api.register_flag(flag.into_flag()?)?;
        }
        Ok(self.events)
    }
}

async fn run(
    method: &'static str,
    params: Value,
    connection: Weak<Connection>,
    context: pi_coding_agent::extension::ExtensionContext,
) -> Result<(), ExtensionError> {
    let connection =
        connection.upgrade().ok_or_else(|| ExtensionError::new("the program has ended"))?;
    connection.set_context(context);
    connection.call(method, params).await.map(drop).map_err(ExtensionError::with_source)
}

impl FlagDefinition {
    fn into_flag(self) -> Result<Flag, ExtensionError> {
        let kind = match self.kind.as_str() {
            "boolean" => FlagKind::Boolean,
            "string" => FlagKind::String,
            other => {
                let message = format!("the type of flag \"{}\" is {other:?}", self.name);
                return Err(ExtensionError::new(format!("{message}; use boolean or string")));
            }
        };
        let default = match self.default {
            Value::Bool(value) => Some(FlagValue::Boolean(value)),
            Value::String(value) => Some(FlagValue::String(value)),
            _ => None,
        };
        Ok(Flag { name: self.name, kind, default, description: self.description })
    }
}

/// A tool of a program.
struct ProcessTool {
    connection: Weak<Connection>,
    definition: ToolDefinition,
}

impl AgentTool for ProcessTool {
    fn declaration(&self) -> &Tool {
        &self.definition.declaration
    }

    fn label(&self) -> std::borrow::Cow<'_, str> {
        self.definition.label.as_deref().unwrap_or(&self.definition.declaration.name).into()
    }

    fn prompt_snippet(&self) -> Option<&str> {
        self.definition.prompt_snippet.as_deref()
    }

    fn prompt_guidelines(&self) -> &[String] {
        &self.definition.prompt_guidelines
    }

    fn execute(&self, invocation: Invocation) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let ended = || ToolError::new("the program of the extension has ended");
            let connection = self.connection.upgrade().ok_or_else(ended)?;
            let Invocation { id, arguments, cancel, updates, .. } = invocation;
            let params = json!({
                "name": self.definition.declaration.name,
                "toolCallId": id,
                "arguments": arguments,
            });
            let report = move |output| updates.send(output);
            let calling = connection.call_with_updates("tool", params, &id, report);
            let answered = tokio::select! {
                answered = calling => answered,
                () = cancel.cancelled() => return Err(ToolError::new("aborted")),
            };
            let result = answered.map_err(|error| ToolError::new(error.to_string()))?;
            output_from_json(result).map_err(ToolError::new)
        })
    }
}
