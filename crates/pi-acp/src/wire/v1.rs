//! Version 1: messages come in chunks, a tool call is created once and changed later, and the
//! response to a prompt reports the end of the run.

use serde_json::{Value, json};

use super::shared;
use crate::update::{Permission, Status, ToolCall, ToolContent, Update};

pub(super) fn updates(update: Update) -> Vec<Value> {
    let one = |kind: &str, fields: Value| vec![shared::update(kind, fields)];
    let chunk = |kind: &str, id: &str, content: Value| {
        shared::update(kind, json!({ "content": content, "messageId": id }))
    };
    let text = |text: String| json!({ "type": "text", "text": text });
    match update {
        Update::UserMessage { id, content } => content
            .iter()
            .map(|block| chunk("user_message_chunk", &id, shared::block(block)))
            .collect(),
        Update::Content { id, block } => {
            vec![chunk("agent_message_chunk", &id, shared::block(&block))]
        }
        Update::Text { id, text: new } => vec![chunk("agent_message_chunk", &id, text(new))],
        Update::Thought { id, text: new } => vec![chunk("agent_thought_chunk", &id, text(new))],
        Update::ToolCall(call) => one("tool_call", tool_call(call)),
        Update::ToolCallChange(call) => one("tool_call_update", tool_call(call)),
        Update::Plan(entries) => {
            let entries: Vec<Value> = entries.iter().map(shared::plan_entry).collect();
            one("plan", json!({ "entries": entries }))
        }
        Update::Commands(commands) => {
            let commands: Vec<Value> = commands
                .into_iter()
                .map(|command| {
                    let mut value =
                        json!({ "name": command.name, "description": command.description });
                    let input = command.hint.map(|hint| json!({ "hint": hint }));
                    shared::set(&mut value, "input", input);
                    value
                })
                .collect();
            one("available_commands_update", json!({ "availableCommands": commands }))
        }
        Update::Mode(mode) => one("current_mode_update", json!({ "currentModeId": mode })),
        Update::Options(options) => {
            let options = super::Version::V1.options(&options);
            one("config_option_update", json!({ "configOptions": options }))
        }
        Update::Info { title, updated_at } => {
            one("session_info_update", shared::info(title, updated_at))
        }
        Update::Usage { used, size, cost } => one("usage_update", shared::usage(used, size, cost)),
        Update::Notice { severity, text } => {
            one("notice", json!({ "severity": severity.as_str(), "title": text }))
        }
        Update::State(_) => Vec::new(),
    }
}

pub(super) fn permission(session: &str, permission: Permission) -> Value {
    let Permission { title, description, mut tool_call, options, .. } = permission;
    // The version has no place for the reasons but the content of the call.
    let mut content = tool_call.content.take().unwrap_or_default();
    if !description.is_empty() {
        content.push(ToolContent::Block(crate::update::Block::Text(description)));
    }
    tool_call.content = Some(content);
    tool_call.title = Some(title);
    let options: Vec<Value> = options.iter().map(shared::permission_option).collect();
    json!({ "sessionId": session, "toolCall": self::tool_call(tool_call), "options": options })
}

fn tool_call(call: ToolCall) -> Value {
    shared::tool_call(call, status, content)
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Pending => "pending",
        Status::Running => "in_progress",
        Status::Completed => "completed",
        Status::Failed | Status::Cancelled => "failed",
    }
}

fn content(content: ToolContent) -> Value {
    match content {
        ToolContent::Block(block) => {
            json!({ "type": "content", "content": shared::block(&block) })
        }
        ToolContent::Diff { path, old, new, .. } => {
            let mut value = json!({ "type": "diff", "path": path });
            shared::set(&mut value, "oldText", old.map(Value::from));
            shared::set(&mut value, "newText", Some(new.into()));
            value
        }
        ToolContent::Terminal(id) => json!({ "type": "terminal", "terminalId": id }),
    }
}
