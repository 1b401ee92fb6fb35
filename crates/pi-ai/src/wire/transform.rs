//! Adapts a conversation to the model that is about to continue it.
//!
//! A history can contain messages of other providers and models, failed turns and aborted tool
//! calls. Signatures of other models are removed, ids are rewritten consistently, failed turns are
//! left out, and every call gets a result.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use pi_protocol::{
    AssistantBlock, AssistantMessage, Message, MessageContent, Model, TextContent, ToolCall,
    ToolResultMessage, UserBlock, UserMessage,
};

const USER_IMAGE_OMITTED: &str = "(image omitted: model does not support images)";
const TOOL_IMAGE_OMITTED: &str = "(tool image omitted: model does not support images)";
const NO_RESULT: &str = "No result provided";

/// Rewrites the id of a tool call that another model made.
pub(super) type IdNormalizer<'a> = &'a dyn Fn(&str, &AssistantMessage) -> String;

/// Prepares `messages` for `model`. Ids of calls made by other models go through `normalize_id`.
pub fn transform_messages(
    messages: &[Message],
    model: &Model,
    normalize_id: IdNormalizer<'_>,
) -> Vec<Message> {
    let mut ids = HashMap::new();
    let fitted = messages
        .iter()
        .map(|message| match message {
            Message::System(_) => message.clone(),
            Message::User(user) => fit_user(user, model),
            Message::ToolResult(result) => fit_tool_result(result, model, &ids),
            Message::Assistant(assistant) => {
                fit_assistant(assistant, model, normalize_id, &mut ids)
            }
        })
        .collect();
    close_calls(fitted)
}

fn fit_user(user: &Arc<UserMessage>, model: &Model) -> Message {
    match &user.content {
        MessageContent::Blocks(blocks) if lacks_images(model, blocks) => {
            let content = MessageContent::Blocks(omit_images(blocks, USER_IMAGE_OMITTED));
            Message::User(Arc::new(UserMessage { content, ..(**user).clone() }))
        }
        _ => Message::User(Arc::clone(user)),
    }
}

fn fit_tool_result(
    result: &Arc<ToolResultMessage>,
    model: &Model,
    ids: &HashMap<String, String>,
) -> Message {
    let new_id = ids.get(&result.tool_call_id);
    let omit = lacks_images(model, &result.content);
    if new_id.is_none() && !omit {
        return Message::ToolResult(Arc::clone(result));
    }
    let mut result = (**result).clone();
    if let Some(id) = new_id {
        result.tool_call_id.clone_from(id);
    }
    if omit {
        result.content = omit_images(&result.content, TOOL_IMAGE_OMITTED);
    }
    Message::ToolResult(Arc::new(result))
}

fn lacks_images(model: &Model, blocks: &[UserBlock]) -> bool {
    !model.accepts_images() && blocks.iter().any(|block| matches!(block, UserBlock::Image(_)))
}

/// Replaces images by a note; a run of images gets one note.
fn omit_images(blocks: &[UserBlock], note: &str) -> Vec<UserBlock> {
    let mut out: Vec<UserBlock> = Vec::with_capacity(blocks.len());
    for block in blocks {
        match block {
            UserBlock::Image(_) => {
                let noted = matches!(out.last(), Some(UserBlock::Text(text)) if text.text == note);
                if !noted {
                    out.push(UserBlock::text(note));
                }
            }
            other => out.push(other.clone()),
        }
    }
    out
}

fn fit_assistant(
    message: &Arc<AssistantMessage>,
    model: &Model,
    normalize_id: IdNormalizer<'_>,
    ids: &mut HashMap<String, String>,
) -> Message {
    let same =
        message.provider == model.provider && message.api == model.api && message.model == model.id;
    if same && message.content.iter().all(is_kept) {
        return Message::Assistant(Arc::clone(message));
    }
    let content = message
        .content
        .iter()
        .filter(|block| is_kept(block))
        .filter_map(|block| match block {
            AssistantBlock::Text(text) if !same => {
                Some(AssistantBlock::Text(TextContent::new(text.text.clone())))
            }
            // Thinking is of use only to the model that produced it.
            AssistantBlock::Thinking(_) if !same => None,
            AssistantBlock::ToolCall(call) if !same => {
                let id = normalize_id(&call.id, message);
                if id != call.id {
                    ids.insert(call.id.clone(), id.clone());
                }
                let call = ToolCall { id, thought_signature: None, ..call.clone() };
                Some(AssistantBlock::ToolCall(call))
            }
            _ => Some(block.clone()),
        })
        .collect();
    Message::Assistant(Arc::new(AssistantMessage { content, ..(**message).clone() }))
}

/// Returns true if the block is of use to the model that produced it.
fn is_kept(block: &AssistantBlock) -> bool {
    match block {
        AssistantBlock::Thinking(thinking) => {
            thinking.redacted
                || thinking.thinking_signature.as_deref().is_some_and(|s| !s.is_empty())
                || !thinking.thinking.trim().is_empty()
        }
        AssistantBlock::Text(_) | AssistantBlock::ToolCall(_) => true,
        AssistantBlock::Unknown(_) => false,
    }
}

/// Leaves out failed turns and adds an error result for every call without one.
fn close_calls(messages: Vec<Message>) -> Vec<Message> {
    let mut out = Vec::with_capacity(messages.len());
    let mut open = OpenCalls::default();
    for message in messages {
        match &message {
            Message::Assistant(assistant) => {
                open.close(&mut out);
                if assistant.stop_reason.is_failure() {
                    continue;
                }
                open.calls =
                    assistant.tool_calls().map(|c| (c.id.clone(), c.name.clone())).collect();
                out.push(message);
            }
            Message::ToolResult(result) => {
                open.answered.insert(result.tool_call_id.clone());
                out.push(message);
            }
            // No provider accepts a system message between a call and its result.
            Message::System(_) if !open.calls.is_empty() => open.held_back.push(message),
            Message::System(_) => out.push(message),
            Message::User(_) => {
                open.close(&mut out);
                out.push(message);
            }
        }
    }
    open.close(&mut out);
    out
}

/// The tool calls of the last assistant message, until the next turn begins.
#[derive(Default)]
struct OpenCalls {
    calls: Vec<(String, String)>,
    answered: HashSet<String>,
    held_back: Vec<Message>,
}

impl OpenCalls {
    fn close(&mut self, out: &mut Vec<Message>) {
        let answered = std::mem::take(&mut self.answered);
        for (id, name) in self.calls.drain(..) {
            if !answered.contains(&id) {
                out.push(Message::ToolResult(Arc::new(ToolResultMessage {
                    tool_call_id: id,
                    tool_name: name,
                    content: vec![UserBlock::text(NO_RESULT)],
                    is_error: true,
                    ..ToolResultMessage::default()
                })));
            }
        }
        out.append(&mut self.held_back);
    }
}
