//! Encodes the conversation.
//!
//! Expects the output of `transform_messages`, with one system message at most.

use pi_protocol::{
    AssistantBlock, AssistantMessage, Message, MessageContent, ToolCall, ToolResultMessage,
    UserBlock, UserContent,
};
use serde_json::{Map, Value, json};

const ERROR_PREFIX: &str = "[tool error] ";
const SEE_IMAGE: &str = "(see attached image)";
const NO_OUTPUT: &str = "(no tool output)";

/// Encodes the messages of `conversation`.
pub(super) fn encode(conversation: &[Message]) -> Vec<Value> {
    let mut out = Vec::with_capacity(conversation.len());
    for message in conversation {
        match message {
            Message::System(system) => {
                let prompt = system.prompt();
                if !prompt.is_empty() {
                    out.push(json!({"role": "system", "content": prompt}));
                }
            }
            Message::User(user) => {
                if let Some(content) = user_content(&user.content) {
                    out.push(json!({"role": "user", "content": content}));
                }
            }
            Message::Assistant(message) => out.extend(assistant(message)),
            Message::ToolResult(result) => out.push(tool_result(result)),
        }
    }
    out
}

fn user_content(content: &UserContent) -> Option<Value> {
    match content {
        MessageContent::Text(text) => Some(text.as_str().into()),
        MessageContent::Blocks(blocks) => {
            let parts: Vec<Value> = blocks.iter().filter_map(part).collect();
            (!parts.is_empty()).then(|| parts.into())
        }
    }
}

fn part(block: &UserBlock) -> Option<Value> {
    match block {
        UserBlock::Text(text) => Some(text_part(&text.text)),
        UserBlock::Image(image) => {
            let url = format!("data:{};base64,{}", image.mime_type, image.data);
            Some(json!({"type": "image_url", "image_url": url}))
        }
        UserBlock::Unknown(_) => None,
    }
}

fn text_part(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// Encodes an earlier answer; `None` if nothing of it can be sent.
fn assistant(message: &AssistantMessage) -> Option<Value> {
    let mut content = Vec::new();
    let mut calls = Vec::new();
    for block in &message.content {
        match block {
            AssistantBlock::Text(text) if !text.text.trim().is_empty() => {
                content.push(text_part(&text.text));
            }
            AssistantBlock::Thinking(thinking) if !thinking.thinking.trim().is_empty() => {
                let thinking = [text_part(&thinking.thinking)];
                content.push(json!({"type": "thinking", "thinking": thinking}));
            }
            AssistantBlock::ToolCall(call) => calls.push(tool_call(call)),
            _ => {}
        }
    }
    if content.is_empty() && calls.is_empty() {
        return None;
    }
    let mut out = Map::new();
    out.insert("role".to_owned(), "assistant".into());
    out.insert("prefix".to_owned(), false.into());
    if !content.is_empty() {
        out.insert("content".to_owned(), content.into());
    }
    if !calls.is_empty() {
        out.insert("tool_calls".to_owned(), calls.into());
    }
    Some(out.into())
}

fn tool_call(call: &ToolCall) -> Value {
    let arguments = Value::Object(call.arguments.clone()).to_string();
    json!({
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
        "index": 0,
    })
}

fn tool_result(result: &ToolResultMessage) -> Value {
    let texts = result.content.iter().filter_map(UserBlock::as_text);
    let text = texts.collect::<Vec<_>>().join("\n");
    let images: Vec<&UserBlock> =
        result.content.iter().filter(|block| matches!(block, UserBlock::Image(_))).collect();
    let text = match text.trim() {
        "" if images.is_empty() => NO_OUTPUT,
        "" => SEE_IMAGE,
        _ => &text,
    };
    let prefix = if result.is_error { ERROR_PREFIX } else { "" };
    let mut content = vec![text_part(&format!("{prefix}{text}"))];
    content.extend(images.into_iter().filter_map(part));
    json!({
        "role": "tool",
        "name": result.tool_name,
        "content": content,
        "tool_call_id": result.tool_call_id,
    })
}
