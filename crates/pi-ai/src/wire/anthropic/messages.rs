//! Encodes the conversation: alternating turns of content blocks, tool results in the user's turn,
//! later system messages right before an assistant turn or at the end.

use pi_protocol::{
    AssistantBlock, AssistantMessage, ImageContent, Message, MessageContent, SystemMessage,
    ToolResultMessage, UserBlock, UserMessage, render_system_update,
};
use serde_json::{Map, Value, json};

use super::compat::Compat;
use super::tools;
use crate::wire::{Call, EncodeError};

const IMAGES_ONLY: &str = "(see attached image)";
const IMAGE_MOVED: &str = "(image attached after the tool results)";

/// The efforts of earlier turns that the endpoint accepts.
const EFFORTS: &[&str] = &["low", "medium", "high", "xhigh", "max"];

/// Options of the encoding.
pub(super) struct Options<'a> {
    pub(super) call: &'a Call,
    pub(super) compat: &'a Compat,
    /// True if tool changes are declared in place.
    pub(super) inline_tools: bool,
    /// True if earlier turns are marked with their effort.
    pub(super) efforts: bool,
}

/// Encodes the conversation without its leading system message.
pub(super) fn encode(
    conversation: &[Message],
    options: &Options<'_>,
) -> Result<Vec<Value>, EncodeError> {
    let mut out = Vec::with_capacity(conversation.len());
    let mut held_back = Vec::new();
    let start = usize::from(matches!(conversation.first(), Some(Message::System(_))));
    let mut rest = conversation[start..].iter().peekable();
    while let Some(message) = rest.next() {
        match message {
            Message::System(system) => held_back.extend(system_update(system, options)?),
            Message::User(user) => out.extend(user_turn(user)),
            Message::Assistant(assistant) => {
                let Some(turn) = assistant_turn(assistant, options.compat) else { continue };
                out.append(&mut held_back);
                if options.efforts {
                    out.extend(sent_effort(assistant, options.call).map(effort_marker));
                }
                out.push(turn);
            }
            Message::ToolResult(first) => {
                let mut results = vec![first.as_ref()];
                while let Some(Message::ToolResult(next)) =
                    rest.next_if(|next| matches!(next, Message::ToolResult(_)))
                {
                    results.push(next);
                }
                out.push(tool_results(&results));
            }
        }
    }
    out.append(&mut held_back);
    Ok(out)
}

/// Returns the effort of the marker at the end of the request that this turn answered. The marker
/// stays in the history, even if the effort did not change: the cached prefix contains it.
fn sent_effort<'a>(turn: &'a AssistantMessage, call: &Call) -> Option<&'a str> {
    if turn.api != call.model.api || turn.provider != call.model.provider {
        return None;
    }
    turn.provider_thinking_level.as_deref().filter(|effort| EFFORTS.contains(effort))
}

/// Encodes a marker that sets the effort of the following turns.
pub(super) fn effort_marker(effort: &str) -> Value {
    json!({"role": "system", "content": [], "output_config": {"effort": effort}})
}

/// Puts a cache marker on the last block of the last message, unless the assistant wrote it.
pub(super) fn mark_for_cache(messages: &mut [Value], cache: &Value) {
    let Some(last) = messages.last_mut().filter(|last| last["role"] != "assistant") else { return };
    if let Value::String(text) = &last["content"] {
        last["content"] = json!([{"type": "text", "text": text}]);
    }
    let cacheable = ["text", "image", "tool_result", "tool_addition", "tool_removal"];
    if let Some(block) = last["content"].as_array_mut().and_then(|blocks| blocks.last_mut())
        && block["type"].as_str().is_some_and(|kind| cacheable.contains(&kind))
    {
        block["cache_control"] = cache.clone();
    }
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn image_block(image: &ImageContent) -> Value {
    let ImageContent { data, mime_type, .. } = image;
    json!({"type": "image", "source": {"type": "base64", "media_type": mime_type, "data": data}})
}

fn user_turn(user: &UserMessage) -> Option<Value> {
    let content = match &user.content {
        MessageContent::Text(text) if text.trim().is_empty() => return None,
        MessageContent::Text(text) => Value::from(text.clone()),
        MessageContent::Blocks(blocks) => {
            let blocks: Vec<Value> = blocks
                .iter()
                .filter_map(|block| match block {
                    UserBlock::Text(text) if text.text.trim().is_empty() => None,
                    UserBlock::Text(text) => Some(text_block(&text.text)),
                    UserBlock::Image(image) => Some(image_block(image)),
                    UserBlock::Unknown(_) => None,
                })
                .collect();
            if blocks.is_empty() {
                return None;
            }
            blocks.into()
        }
    };
    Some(json!({"role": "user", "content": content}))
}

fn assistant_turn(message: &AssistantMessage, compat: &Compat) -> Option<Value> {
    let blocks: Vec<Value> =
        message.content.iter().filter_map(|block| assistant_block(block, compat)).collect();
    (!blocks.is_empty()).then(|| json!({"role": "assistant", "content": blocks}))
}

fn assistant_block(block: &AssistantBlock, compat: &Compat) -> Option<Value> {
    match block {
        AssistantBlock::Text(text) if text.text.trim().is_empty() => None,
        AssistantBlock::Text(text) => Some(text_block(&text.text)),
        AssistantBlock::Thinking(thinking) => {
            let signature = thinking.thinking_signature.as_deref().unwrap_or_default();
            if thinking.redacted {
                return Some(json!({"type": "redacted_thinking", "data": signature}));
            }
            if signature.is_empty() && thinking.thinking.trim().is_empty() {
                return None;
            }
            if signature.is_empty() && !compat.allow_empty_signature {
                // The endpoint would reject unsigned thinking; as text it is not lost.
                return Some(text_block(&thinking.thinking));
            }
            let thinking = &thinking.thinking;
            Some(json!({"type": "thinking", "thinking": thinking, "signature": signature}))
        }
        AssistantBlock::ToolCall(call) => Some(
            json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}),
        ),
        AssistantBlock::Unknown(_) => None,
    }
}

/// Encodes the results of one turn. Images of failed calls follow the results, since the API
/// accepts only text inside a failed result.
fn tool_results(results: &[&ToolResultMessage]) -> Value {
    let mut blocks: Vec<Value> = results.iter().map(|result| tool_result(result)).collect();
    for result in results.iter().filter(|result| result.is_error) {
        let mut images = images(&result.content).peekable();
        if images.peek().is_some() {
            let ToolResultMessage { tool_call_id: id, tool_name: name, .. } = result;
            let title = format!("Images from the error result of tool call {id} ({name}):");
            blocks.push(text_block(&title));
            blocks.extend(images.map(image_block));
        }
    }
    json!({"role": "user", "content": blocks})
}

fn tool_result(result: &ToolResultMessage) -> Value {
    let has_images = images(&result.content).next().is_some();
    let content = if has_images && !result.is_error {
        let mut blocks: Vec<Value> = result
            .content
            .iter()
            .filter_map(|block| match block {
                UserBlock::Text(text) => Some(text_block(&text.text)),
                UserBlock::Image(image) => Some(image_block(image)),
                UserBlock::Unknown(_) => None,
            })
            .collect();
        if !result.content.iter().any(|block| matches!(block, UserBlock::Text(_))) {
            blocks.insert(0, text_block(IMAGES_ONLY));
        }
        Value::from(blocks)
    } else {
        result_text(&result.content).into()
    };
    json!({
        "type": "tool_result",
        "tool_use_id": result.tool_call_id,
        "content": content,
        "is_error": result.is_error,
    })
}

/// Returns the text of a result; a run of images becomes one note.
fn result_text(blocks: &[UserBlock]) -> String {
    let mut lines: Vec<&str> = Vec::new();
    let mut after_image = false;
    for block in blocks {
        match block {
            UserBlock::Text(text) => lines.push(&text.text),
            UserBlock::Image(_) if !after_image => lines.push(IMAGE_MOVED),
            UserBlock::Image(_) | UserBlock::Unknown(_) => {}
        }
        after_image = matches!(block, UserBlock::Image(_));
    }
    lines.join("\n")
}

fn images(blocks: &[UserBlock]) -> impl Iterator<Item = &ImageContent> {
    blocks.iter().filter_map(|block| match block {
        UserBlock::Image(image) => Some(image),
        _ => None,
    })
}

fn system_update(
    system: &SystemMessage,
    options: &Options<'_>,
) -> Result<Option<Value>, EncodeError> {
    let mut blocks = Vec::new();
    let text = render_system_update(system);
    if !text.is_empty() {
        blocks.push(text_block(&text));
    }
    if options.inline_tools {
        let added = |name: &str| system.tools_added.iter().any(|tool| tool.name == name);
        for removed in system.tools_removed.iter().filter(|removed| !added(&removed.name)) {
            let reference = json!({"type": "tool_reference", "name": removed.name});
            blocks.push(json!({"type": "tool_removal", "tool": reference}));
        }
        for tool in &system.tools_added {
            let definition = tools::definition(tool, options.call, options.compat)?;
            let tool = json!({"type": "tool_definition", "definition": definition});
            blocks.push(json!({"type": "tool_addition", "tool": tool}));
        }
    }
    Ok((!blocks.is_empty()).then(|| {
        let mut message = Map::new();
        message.insert("role".into(), "system".into());
        message.insert("content".into(), blocks.into());
        Value::Object(message)
    }))
}
