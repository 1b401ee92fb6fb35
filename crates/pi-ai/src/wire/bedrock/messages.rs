//! Encodes the conversation: turns of content blocks, with the results of a turn in one message.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pi_protocol::{
    AssistantBlock, AssistantMessage, ImageContent, Message, MessageContent, ThinkingContent,
    ToolResultMessage, UserBlock, UserMessage,
};
use serde_json::{Map, Value, json};

use super::family::Family;
use crate::wire::EncodeError;

/// The text of a message without content, since the API rejects empty ones.
const EMPTY: &str = "<empty>";

const IMAGE_MOVED: &str = "(image attached after the tool results)";

/// Encodes the conversation without its system messages.
pub(super) fn encode(conversation: &[Message], family: Family) -> Result<Vec<Value>, EncodeError> {
    let mut out = Vec::with_capacity(conversation.len());
    let mut rest = conversation.iter().peekable();
    while let Some(message) = rest.next() {
        match message {
            // The prompt is a field of its own.
            Message::System(_) => {}
            Message::User(user) => out.push(turn("user", user_blocks(user)?)),
            Message::Assistant(assistant) => {
                let blocks = assistant_blocks(assistant, family);
                if !blocks.is_empty() {
                    out.push(turn("assistant", blocks));
                }
            }
            Message::ToolResult(first) => {
                let mut results = vec![first.as_ref()];
                while let Some(Message::ToolResult(next)) =
                    rest.next_if(|next| matches!(next, Message::ToolResult(_)))
                {
                    results.push(next);
                }
                out.push(turn("user", tool_results(&results, family)?));
            }
        }
    }
    Ok(out)
}

/// Adds a cache point to the last message, unless the assistant wrote it.
pub(super) fn mark_for_cache(messages: &mut [Value], cache_point: &Value) {
    if let Some(last) = messages.last_mut().filter(|last| last["role"] == "user")
        && let Some(blocks) = last["content"].as_array_mut()
    {
        blocks.push(cache_point.clone());
    }
}

fn turn(role: &str, blocks: Vec<Value>) -> Value {
    let mut turn = json!({"role": role});
    turn["content"] = blocks.into();
    turn
}

fn text_block(text: &str) -> Value {
    json!({"text": text})
}

fn image_block(image: &ImageContent) -> Result<Value, EncodeError> {
    let format = match image.mime_type.to_ascii_lowercase().as_str() {
        "image/jpeg" | "image/jpg" => "jpeg",
        "image/png" => "png",
        "image/gif" => "gif",
        "image/webp" => "webp",
        _ => return Err(EncodeError::ImageType(image.mime_type.clone())),
    };
    Ok(json!({"image": {"format": format, "source": {"bytes": image.data}}}))
}

fn user_blocks(user: &UserMessage) -> Result<Vec<Value>, EncodeError> {
    match &user.content {
        MessageContent::Text(text) => Ok(not_empty(vec![text_block(text)], text.trim().is_empty())),
        MessageContent::Blocks(blocks) => content_blocks(blocks),
    }
}

/// Encodes blocks of a user or a tool, without blank texts.
fn content_blocks(blocks: &[UserBlock]) -> Result<Vec<Value>, EncodeError> {
    let mut out = Vec::with_capacity(blocks.len());
    for block in blocks {
        match block {
            UserBlock::Text(text) if text.text.trim().is_empty() => {}
            UserBlock::Text(text) => out.push(text_block(&text.text)),
            UserBlock::Image(image) => out.push(image_block(image)?),
            UserBlock::Unknown(_) => {}
        }
    }
    let is_empty = out.is_empty();
    Ok(not_empty(out, is_empty))
}

fn not_empty(blocks: Vec<Value>, is_empty: bool) -> Vec<Value> {
    if is_empty { vec![text_block(EMPTY)] } else { blocks }
}

fn assistant_blocks(message: &AssistantMessage, family: Family) -> Vec<Value> {
    let block = |block: &AssistantBlock| match block {
        AssistantBlock::Text(text) if text.text.trim().is_empty() => None,
        AssistantBlock::Text(text) => Some(text_block(&text.text)),
        AssistantBlock::Thinking(thinking) => thinking_block(thinking, family),
        AssistantBlock::ToolCall(call) => {
            let input = without_empty_keys(&call.arguments);
            let call = json!({"toolUseId": call.id, "name": call.name, "input": input});
            Some(json!({"toolUse": call}))
        }
        AssistantBlock::Unknown(_) => None,
    };
    message.content.iter().filter_map(block).collect()
}

fn thinking_block(thinking: &ThinkingContent, family: Family) -> Option<Value> {
    let signature = thinking.thinking_signature.as_deref().unwrap_or_default();
    if thinking.redacted {
        // Damaged data would fail every later request.
        let is_valid = !signature.is_empty() && STANDARD.decode(signature).is_ok();
        return is_valid.then(|| json!({"reasoningContent": {"redactedContent": signature}}));
    }
    if thinking.thinking.trim().is_empty() {
        return None;
    }
    let mut text = text_block(&thinking.thinking);
    if family.is_claude() {
        if signature.is_empty() {
            // The endpoint would reject unsigned thinking; as text it is not lost.
            return Some(text);
        }
        text["signature"] = signature.into();
    }
    Some(json!({"reasoningContent": {"reasoningText": text}}))
}

/// Removes members without a name, which the API rejects.
fn without_empty_keys(object: &Map<String, Value>) -> Value {
    let members = object.iter().filter(|(name, _)| !name.is_empty());
    members.map(|(name, value)| (name.clone(), stripped(value))).collect()
}

fn stripped(value: &Value) -> Value {
    match value {
        Value::Object(object) => without_empty_keys(object),
        Value::Array(items) => items.iter().map(stripped).collect(),
        other => other.clone(),
    }
}

/// Encodes the results of one turn. Claude accepts only text inside a failed result, so images of
/// failed calls follow the results.
fn tool_results(results: &[&ToolResultMessage], family: Family) -> Result<Vec<Value>, EncodeError> {
    let mut blocks = Vec::with_capacity(results.len());
    let mut moved = Vec::new();
    for result in results {
        let ToolResultMessage { tool_call_id: id, tool_name: name, .. } = result;
        let content = if result.is_error && family.is_claude() && has_images(&result.content) {
            moved.push(text_block(&format!(
                "Images from the error result of tool call {id} ({name}):"
            )));
            for block in &result.content {
                if let UserBlock::Image(image) = block {
                    moved.push(image_block(image)?);
                }
            }
            content_blocks(&without_images(&result.content))?
        } else {
            content_blocks(&result.content)?
        };
        let status = if result.is_error { "error" } else { "success" };
        let result = json!({"toolUseId": id, "content": content, "status": status});
        blocks.push(json!({"toolResult": result}));
    }
    blocks.append(&mut moved);
    Ok(blocks)
}

fn has_images(blocks: &[UserBlock]) -> bool {
    blocks.iter().any(|block| matches!(block, UserBlock::Image(_)))
}

/// Replaces each run of images by a note.
fn without_images(blocks: &[UserBlock]) -> Vec<UserBlock> {
    let mut out = Vec::with_capacity(blocks.len());
    let mut after_image = false;
    for block in blocks {
        let is_image = matches!(block, UserBlock::Image(_));
        if !is_image {
            out.push(block.clone());
        } else if !after_image {
            out.push(UserBlock::text(IMAGE_MOVED));
        }
        after_image = is_image;
    }
    out
}
