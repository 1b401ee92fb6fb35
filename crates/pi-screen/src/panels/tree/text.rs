//! The text of an entry in the tree. Pure.

use pi_protocol::{AgentMessage, AssistantBlock, Entry, EntryBody, Message, StopReason, ToolCall};
use pi_session::{BashExecution, text_of};
use pi_tui::Token;
use serde_json::Value;

/// Characters of a text that are shown at most.
const LONGEST: usize = 200;

/// Characters of a text that are searched at most.
const LONGEST_SEARCHED: usize = 10_000;

/// Arguments of tools that say what a call is about, the most telling ones first.
const TELLING: [&str; 6] = ["command", "path", "file_path", "pattern", "query", "url"];

/// The text of an entry, in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shown {
    /// The kind of the entry, in a color of its own.
    pub(super) role: &'static str,
    pub(super) token: Token,
    pub(super) text: String,
    /// The whole row is of little interest.
    pub(super) is_dim: bool,
}

/// Returns the text of an entry. `call` is the tool call that a tool result belongs to.
pub(super) fn shown(entry: &Entry, call: Option<&ToolCall>) -> Shown {
    let said = |role, token, text: &str| Shown { role, token, text: cut(text), is_dim: false };
    let dim = |text: String| Shown { role: "", token: Token::Dim, text, is_dim: true };
    match &entry.body {
        EntryBody::Message(AgentMessage::Llm(message)) => match message {
            Message::System(_) => dim("[system]".to_owned()),
            Message::User(user) => said("user: ", Token::Accent, &text_of(&user.content)),
            Message::Assistant(answer) => {
                let text = answer.text();
                let text = match (text.trim(), &answer.stop_reason) {
                    ("", StopReason::Aborted) => "(aborted)",
                    ("", StopReason::Error) => answer.error_message.as_deref().unwrap_or("(error)"),
                    ("", _) => "(no text)",
                    (text, _) => text,
                };
                said("assistant: ", Token::Success, text)
            }
            Message::ToolResult(result) => {
                let name = if result.tool_name.is_empty() { "tool" } else { &result.tool_name };
                dim(match call.and_then(about) {
                    Some(about) => cut(&format!("[{name}: {about}]")),
                    None => format!("[{name}]"),
                })
            }
        },
        EntryBody::Message(message) => match message.as_custom::<BashExecution>() {
            Some(bash) => dim(cut(&format!("[bash: {}]", bash.command))),
            None => dim(format!("[{}]", message.role())),
        },
        EntryBody::Compaction(compaction) => {
            let tokens = (compaction.tokens_before / 1000.0).round();
            Shown {
                role: "",
                token: Token::BorderAccent,
                text: format!("[compaction: {tokens}k tokens]"),
                is_dim: false,
            }
        }
        EntryBody::BranchSummary(summary) => {
            said("[branch summary]: ", Token::Warning, &summary.summary)
        }
        EntryBody::CustomMessage(message) => {
            let text = text_of(&message.content);
            said("", Token::CustomMessageLabel, &format!("[{}]: {text}", message.custom_type))
        }
        EntryBody::ModelChange { model_id, .. } => dim(format!("[model: {model_id}]")),
        EntryBody::ThinkingLevelChange { thinking_level } => {
            dim(format!("[thinking: {thinking_level}]"))
        }
        EntryBody::Custom { custom_type, .. } => dim(format!("[custom: {custom_type}]")),
        EntryBody::Label { label, .. } => {
            dim(format!("[label: {}]", label.as_deref().unwrap_or("(removed)")))
        }
        EntryBody::SessionInfo { name } => {
            dim(format!("[name: {}]", name.as_deref().unwrap_or("(none)")))
        }
        EntryBody::Usage(usage) => dim(format!("[usage: {}]", usage.kind)),
        EntryBody::ContextEdit(_) => dim("[context edit]".to_owned()),
        EntryBody::Unknown { kind } => dim(format!("[{kind}]")),
        _ => dim("[entry]".to_owned()),
    }
}

/// Returns the whole text of an entry, for the clipboard.
pub(super) fn whole(entry: &Entry) -> Option<String> {
    let text = match &entry.body {
        EntryBody::Message(AgentMessage::Llm(message)) => match message {
            Message::User(user) => text_of(&user.content),
            Message::Assistant(answer) => answer.text(),
            Message::ToolResult(result) => {
                result.content.iter().filter_map(pi_protocol::UserBlock::as_text).collect()
            }
            Message::System(_) => return None,
        },
        EntryBody::Message(message) => message.as_custom::<BashExecution>()?.output,
        EntryBody::Compaction(compaction) => compaction.summary.clone(),
        EntryBody::BranchSummary(summary) => summary.summary.clone(),
        EntryBody::CustomMessage(message) => text_of(&message.content),
        _ => return None,
    };
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Returns the text of an entry that is searched, in lower case.
pub(super) fn searched(entry: &Entry, label: Option<&str>) -> String {
    let Shown { role, text, .. } = shown(entry, None);
    let whole = whole(entry).unwrap_or_default();
    let whole: String = whole.chars().take(LONGEST_SEARCHED).collect();
    format!("{role} {text} {whole} {}", label.unwrap_or_default()).to_lowercase()
}

/// Returns the call with an id, if the entry is an answer that contains it.
pub(super) fn call<'a>(entry: &'a Entry, id: &str) -> Option<&'a ToolCall> {
    let EntryBody::Message(AgentMessage::Llm(Message::Assistant(answer))) = &entry.body else {
        return None;
    };
    answer.content.iter().find_map(|block| match block {
        AssistantBlock::ToolCall(call) if call.id == id => Some(call),
        _ => None,
    })
}

/// Returns the id of the call that a tool result answers.
pub(super) fn answered_call(entry: &Entry) -> Option<&str> {
    match &entry.body {
        EntryBody::Message(AgentMessage::Llm(Message::ToolResult(result))) => {
            Some(&result.tool_call_id)
        }
        _ => None,
    }
}

/// Returns what a call is about: its most telling argument.
fn about(call: &ToolCall) -> Option<String> {
    let telling = TELLING.iter().find_map(|name| call.arguments.get(*name)?.as_str());
    let first = || call.arguments.values().find_map(Value::as_str);
    telling.or_else(first).map(str::to_owned)
}

/// Returns the beginning of a text, in one line.
fn cut(text: &str) -> String {
    let mut short = String::new();
    for word in text.split_whitespace() {
        if !short.is_empty() {
            short.push(' ');
        }
        short.push_str(word);
        if short.len() > LONGEST * 4 {
            break;
        }
    }
    match short.char_indices().nth(LONGEST) {
        Some((end, _)) => short[..end].to_owned(),
        None => short,
    }
}
