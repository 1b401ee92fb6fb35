//! The draft of version 2: everything is created and changed by its id, and the end of a run is a
//! change of the session's state.

use serde_json::{Value, json};

use super::shared;
use crate::patch;
use crate::update::{Command, Permission, State, Status, Stop, ToolCall, ToolContent, Update};

/// The only plan of a session.
const PLAN: &str = "plan";

pub(super) fn updates(update: Update) -> Vec<Value> {
    let chunk = |kind: &str, id: String, text: String| {
        let content = json!({ "type": "text", "text": text });
        shared::update(kind, json!({ "messageId": id, "content": content }))
    };
    vec![match update {
        Update::UserMessage { id, content } => {
            let content: Vec<Value> = content.iter().map(shared::block).collect();
            shared::update("user_message", json!({ "messageId": id, "content": content }))
        }
        Update::Content { id, block } => {
            let content = shared::block(&block);
            let fields = json!({ "messageId": id, "content": content });
            shared::update("agent_message_chunk", fields)
        }
        Update::Text { id, text } => chunk("agent_message_chunk", id, text),
        Update::Thought { id, text } => chunk("agent_thought_chunk", id, text),
        Update::ToolCall(call) | Update::ToolCallChange(call) => {
            shared::update("tool_call_update", tool_call(call))
        }
        Update::Plan(entries) => {
            let entries: Vec<Value> = entries.iter().map(shared::plan_entry).collect();
            let plan = json!({ "type": "items", "planId": PLAN, "entries": entries });
            shared::update("plan_update", json!({ "plan": plan }))
        }
        Update::Commands(commands) => shared::update(
            "available_commands_update",
            json!({ "availableCommands": self::commands(commands) }),
        ),
        // A profile is one of the options.
        Update::Mode(_) => return Vec::new(),
        Update::Options(options) => {
            let options = super::Version::V2.options(&options);
            shared::update("config_option_update", json!({ "configOptions": options }))
        }
        Update::Info { title, updated_at } => {
            shared::update("session_info_update", shared::info(title, updated_at))
        }
        Update::Usage { used, size, cost } => {
            shared::update("usage_update", shared::usage(used, size, cost))
        }
        Update::Notice { severity, text } => {
            shared::update("notice", json!({ "severity": severity.as_str(), "title": text }))
        }
        Update::State(state) => shared::update("state_update", self::state(state)),
    }]
}

/// Writes slash commands.
pub(crate) fn commands(commands: Vec<Command>) -> Value {
    let command = |command: Command| {
        let Command { name, description, hint } = command;
        let mut value = json!({ "type": "command", "name": name, "description": description });
        let input = hint.map(|hint| json!({ "type": "text", "hint": hint }));
        shared::set(&mut value, "input", input);
        value
    };
    commands.into_iter().map(command).collect()
}

fn state(state: State) -> Value {
    match state {
        State::Running => json!({ "state": "running" }),
        State::RequiresAction => json!({ "state": "requires_action" }),
        State::Idle(None) => json!({ "state": "idle" }),
        State::Idle(Some(stop)) => {
            let mut value = json!({ "state": "idle", "stopReason": stop.as_str() });
            if let Stop::Error(error) = stop {
                shared::set(&mut value, "error", Some(json!(error)));
            }
            value
        }
    }
}

pub(super) fn permission(session: &str, permission: Permission) -> Value {
    let Permission { title, description, tool_call, command, options } = permission;
    let subject = match command {
        Some((command, cwd)) => json!({
            "type": "command", "command": command, "cwd": cwd, "toolCallId": tool_call.id,
        }),
        None => json!({ "type": "tool_call", "toolCall": self::tool_call(tool_call) }),
    };
    let options: Vec<Value> = options.iter().map(shared::permission_option).collect();
    let mut value = json!({ "sessionId": session, "title": title });
    let description = (!description.is_empty()).then(|| description.into());
    shared::set(&mut value, "description", description);
    shared::set(&mut value, "subject", Some(subject));
    shared::set(&mut value, "options", Some(options.into()));
    value
}

fn tool_call(call: ToolCall) -> Value {
    shared::tool_call(call, status, content)
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Pending => "pending",
        Status::Running => "in_progress",
        Status::Completed => "completed",
        Status::Failed => "failed",
        Status::Cancelled => "cancelled",
    }
}

fn content(content: ToolContent) -> Value {
    match content {
        ToolContent::Block(block) => {
            json!({ "type": "content", "content": shared::block(&block) })
        }
        ToolContent::Diff { path, old, new, hunks } => {
            let operation = if old.is_none() { "add" } else { "modify" };
            let change = json!({ "operation": operation, "path": path, "fileType": "text" });
            let mut value = json!({ "type": "diff", "changes": [change] });
            let patch = match old {
                None => Some(patch::addition(&path, &new)),
                Some(_) => hunks.map(|hunks| patch::modification(&path, &hunks)),
            };
            let patch = patch.map(|text| json!({ "format": "git_patch", "text": text }));
            shared::set(&mut value, "patch", patch);
            value
        }
        ToolContent::Terminal(id) => json!({ "type": "terminal", "terminalId": id }),
    }
}
