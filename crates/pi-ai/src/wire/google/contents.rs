//! Encodes the conversation as Google's `contents`: turns of `user` and `model`, made of parts.
//!
//! Key invariant: all results of one turn of calls are in the one user turn that follows it. The
//! API counts calls and responses and rejects the request otherwise.

use std::collections::HashMap;

use pi_protocol::{
    AssistantBlock, AssistantMessage, ImageContent, Message, MessageContent, ToolCall,
    ToolResultMessage, UserBlock, UserContent,
};
use serde_json::{Value, json};

use super::family::Family;
use crate::wire::{Call, ids, transform_messages};

/// Longest call id; longer ids are shortened.
const MAX_ID: usize = 64;

/// Text of a result that has only images.
const SEE_IMAGE: &str = "(see attached image)";

/// Text before the images of a result that cannot contain them.
const RESULT_IMAGE: &str = "Tool result image:";

/// Encodes the conversation without system messages.
pub(super) fn write(call: &Call) -> Vec<Value> {
    let family = Family::of(&call.model.id);
    let spoken: Vec<Message> =
        call.messages.iter().filter(|m| !matches!(m, Message::System(_))).cloned().collect();
    let normalize = |id: &str, _: &AssistantMessage| {
        if family.supports_call_ids() {
            ids::shorten(ids::sanitize(id), MAX_ID)
        } else {
            id.to_owned()
        }
    };
    let mut contents = Contents { family, turns: Vec::new(), results: Results::default() };
    for message in transform_messages(&spoken, &call.model, &normalize) {
        match message {
            Message::System(_) => {}
            Message::User(user) => {
                contents.end_results();
                contents.turn("user", user_parts(&user.content));
            }
            Message::Assistant(assistant) => contents.assistant(&assistant),
            Message::ToolResult(result) => contents.result(&result),
        }
    }
    contents.end_results();
    contents.turns
}

struct Contents<'a> {
    family: Family<'a>,
    turns: Vec<Value>,
    results: Results,
}

/// The results of one turn of calls.
#[derive(Default)]
struct Results {
    /// Position of each call in its turn, by id.
    order: HashMap<String, usize>,
    /// The responses, with the position of their call.
    responses: Vec<(usize, Value)>,
    /// Images that must follow in a turn of their own.
    images: Vec<Value>,
}

impl Contents<'_> {
    fn turn(&mut self, role: &str, parts: Vec<Value>) {
        if !parts.is_empty() {
            self.turns.push(object([("role", role.into()), ("parts", parts.into())]));
        }
    }

    fn assistant(&mut self, assistant: &AssistantMessage) {
        self.end_results();
        // Without ids, a response belongs to the first call of the same name without a response,
        // so the results must be in the order of the calls. With ids, the order is kept.
        if !self.family.supports_call_ids() {
            let calls = assistant.tool_calls().enumerate();
            self.results.order = calls.map(|(place, call)| (call.id.clone(), place)).collect();
        }
        let with_ids = self.family.supports_call_ids();
        let parts = assistant.content.iter().filter_map(|block| assistant_part(block, with_ids));
        self.turn("model", parts.collect());
    }

    fn result(&mut self, result: &ToolResultMessage) {
        let images: Vec<Value> = result
            .content
            .iter()
            .filter_map(|block| match block {
                UserBlock::Image(image) => Some(inline_data(image)),
                _ => None,
            })
            .collect();
        let text = result_text(result, !images.is_empty());
        let key = if result.is_error { "error" } else { "output" };
        let mut response = object([
            ("name", result.tool_name.as_str().into()),
            ("response", object([(key, text.into())])),
        ]);
        if !images.is_empty() {
            if self.family.supports_images_in_results() {
                response["parts"] = images.into();
            } else {
                self.results.images.push(json!({"text": RESULT_IMAGE}));
                self.results.images.extend(images);
            }
        }
        if self.family.supports_call_ids() {
            response["id"] = result.tool_call_id.as_str().into();
        }
        let place = self.results.order.get(&result.tool_call_id).copied().unwrap_or(usize::MAX);
        self.results.responses.push((place, object([("functionResponse", response)])));
    }

    fn end_results(&mut self) {
        let Results { mut responses, images, .. } = std::mem::take(&mut self.results);
        responses.sort_by_key(|(place, _)| *place);
        self.turn("user", responses.into_iter().map(|(_, response)| response).collect());
        self.turn("user", images);
    }
}

fn user_parts(content: &UserContent) -> Vec<Value> {
    match content {
        MessageContent::Text(text) => vec![json!({"text": text})],
        MessageContent::Blocks(blocks) => blocks
            .iter()
            .filter_map(|block| match block {
                UserBlock::Text(text) => Some(json!({"text": text.text})),
                UserBlock::Image(image) => Some(inline_data(image)),
                UserBlock::Unknown(_) => None,
            })
            .collect(),
    }
}

fn inline_data(image: &ImageContent) -> Value {
    json!({"inlineData": {"mimeType": image.mime_type, "data": image.data}})
}

fn assistant_part(block: &AssistantBlock, with_ids: bool) -> Option<Value> {
    let (mut part, signature) = match block {
        AssistantBlock::Text(text) => {
            let signature = signature(text.text_signature.as_deref());
            if text.text.trim().is_empty() && signature.is_none() {
                return None;
            }
            (json!({"text": text.text}), signature)
        }
        AssistantBlock::Thinking(thinking) => {
            let signature = signature(thinking.thinking_signature.as_deref());
            if thinking.thinking.trim().is_empty() && signature.is_none() {
                return None;
            }
            (json!({"text": thinking.thinking, "thought": true}), signature)
        }
        AssistantBlock::ToolCall(call) => {
            (function_call(call, with_ids), signature(call.thought_signature.as_deref()))
        }
        AssistantBlock::Unknown(_) => return None,
    };
    if let Some(signature) = signature {
        part["thoughtSignature"] = json!(signature);
    }
    Some(part)
}

fn function_call(call: &ToolCall, with_ids: bool) -> Value {
    let mut function =
        object([("name", call.name.as_str().into()), ("args", call.arguments.clone().into())]);
    if with_ids {
        function["id"] = call.id.as_str().into();
    }
    object([("functionCall", function)])
}

/// Builds an object from moved members: `json!` would copy them, and images are large.
fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Returns a signature if the API can read it: the field is bytes, and a value that is not base64
/// fails the whole request.
fn signature(text: Option<&str>) -> Option<&str> {
    let text = text.filter(|text| !text.is_empty() && text.len() % 4 == 0)?;
    let digits = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    digits
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
        .then_some(text)
}

fn result_text(result: &ToolResultMessage, has_images: bool) -> String {
    let texts: Vec<&str> = result.content.iter().filter_map(UserBlock::as_text).collect();
    let text = texts.join("\n");
    match (text.trim().is_empty(), has_images) {
        (false, _) => text,
        (true, true) => SEE_IMAGE.to_owned(),
        (true, false) => String::new(),
    }
}
