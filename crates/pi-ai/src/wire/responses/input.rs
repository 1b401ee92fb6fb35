//! Encodes the conversation as a list of input items.
//!
//! An assistant message becomes one item per block, in the order of production: the server rejects
//! reasoning that is not followed by the item that it led to.

use std::collections::{HashMap, HashSet};

use pi_protocol::{
    AssistantBlock, AssistantMessage, Declarations, Message, MessageContent, Model, SystemMessage,
    TextContent, ToolCall, ToolResultMessage, UserBlock, UserMessage, render_system_update,
};
use serde_json::{Value, json};

use super::compat::Compat;
use super::ids::{TextSignature, normalize_call_id, split_call_id};
use super::tools::{ToolPlan, grammar_arguments};
use crate::wire::{Call, EncodeError, transform_messages};

const NO_OUTPUT: &str = "(no tool output)";

/// The encoded conversation and the top-level tools.
#[derive(Debug)]
pub(super) struct Input {
    /// The prompt at the beginning, if it is not one of the items.
    pub(super) prompt: String,
    /// The list `input` of the body.
    pub(super) items: Vec<Value>,
    /// The list `tools` of the body.
    pub(super) tools: Vec<Value>,
}

/// Encodes the conversation of `call`, with `effort` set inside it.
pub(super) fn build(
    call: &Call,
    compat: &Compat,
    effort: Option<&str>,
) -> Result<Input, EncodeError> {
    let collapsed;
    let messages = if compat.mid_system {
        &call.messages
    } else {
        collapsed = Declarations::collapse(&call.messages);
        &collapsed
    };
    let model = &*call.model;
    let (plan, tools) = ToolPlan::new(messages, compat)?;
    let messages =
        transform_messages(messages, model, &|id, from| normalize_call_id(id, from, model));
    let grammar_arguments =
        if compat.grammar_tools { grammar_arguments(&call.messages) } else { HashMap::new() };
    let mut writer = Writer {
        model,
        compat,
        effort,
        plan,
        grammar_arguments,
        custom_calls: HashSet::new(),
        prompt: String::new(),
        items: Vec::new(),
        index: 0,
        systems: 0,
    };
    writer.conversation(&messages)?;
    if let Some(effort) = effort {
        writer.items.push(configuration_update(effort));
    }
    Ok(Input { prompt: writer.prompt, items: writer.items, tools })
}

fn configuration_update(effort: &str) -> Value {
    json!({"type": "configuration_update", "reasoning": {"effort": effort}})
}

struct Writer<'a> {
    model: &'a Model,
    compat: &'a Compat,
    effort: Option<&'a str>,
    plan: ToolPlan,
    /// Name of the argument of every grammar tool.
    grammar_arguments: HashMap<String, String>,
    /// Ids of the calls that were encoded as `custom_tool_call`; their results differ, too.
    custom_calls: HashSet<&'a str>,
    prompt: String,
    items: Vec<Value>,
    /// Number of messages so far, without the leading system message. Generated ids contain it.
    index: usize,
    systems: usize,
}

impl<'a> Writer<'a> {
    fn conversation(&mut self, messages: &'a [Message]) -> Result<(), EncodeError> {
        for (position, message) in messages.iter().enumerate() {
            let before = self.items.len();
            match message {
                Message::System(system) => {
                    self.system(system, position == 0)?;
                    self.systems += 1;
                }
                Message::User(user) => self.user(user),
                Message::Assistant(assistant) => self.assistant(assistant),
                Message::ToolResult(result) => self.tool_result(result),
            }
            let counts = match message {
                Message::System(_) => position > 0,
                _ => self.items.len() > before,
            };
            self.index += usize::from(counts);
        }
        Ok(())
    }

    fn system(&mut self, system: &SystemMessage, leads: bool) -> Result<(), EncodeError> {
        let update = self.plan.update(system, (self.systems, self.index), self.compat)?;
        self.items.extend(update.items);
        let text = if leads { system.prompt() } else { render_system_update(system) };
        let text = [Some(text), update.notice]
            .into_iter()
            .flatten()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("\n\n");
        if leads && self.compat.prompt_in_body {
            self.prompt = text;
        } else if !text.is_empty() {
            self.items.push(json!({"role": self.compat.system_role(), "content": text}));
        }
        Ok(())
    }

    fn user(&mut self, user: &UserMessage) {
        let content: Vec<Value> = match &user.content {
            MessageContent::Text(text) => vec![input_text(text)],
            MessageContent::Blocks(blocks) => blocks.iter().filter_map(input_block).collect(),
        };
        if !content.is_empty() {
            self.items.push(json!({"role": "user", "content": content}));
        }
    }

    fn assistant(&mut self, message: &'a AssistantMessage) {
        let start = self.items.len();
        let origin = Origin::of(message, self.model);
        let mut texts = 0;
        for block in &message.content {
            match block {
                AssistantBlock::Thinking(thinking) => {
                    let signature = thinking.thinking_signature.as_deref();
                    self.items.extend(signature.and_then(reasoning_item));
                }
                AssistantBlock::Text(text) => {
                    self.items.push(self.message_item(text, texts));
                    texts += 1;
                }
                AssistantBlock::ToolCall(call) => self.call(call, origin),
                AssistantBlock::Unknown(_) => {}
            }
        }
        if self.effort.is_some()
            && origin == Origin::SameModel
            && let Some(effort) = &message.provider_thinking_level
            && self.items.len() > start
        {
            self.items.insert(start, configuration_update(effort));
        }
    }

    fn message_item(&self, text: &TextContent, ordinal: usize) -> Value {
        let signature = TextSignature::read(text, || match ordinal {
            0 => format!("msg_pi_{}", self.index),
            _ => format!("msg_pi_{}_{ordinal}", self.index),
        });
        let mut item = json!({
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": text.text, "annotations": []}],
            "status": "completed",
            "id": signature.id,
        });
        if let Some(phase) = signature.phase {
            item["phase"] = json!(phase);
        }
        item
    }

    fn call(&mut self, call: &'a ToolCall, origin: Origin) {
        let (call_id, item_id) = split_call_id(&call.id);
        let (mut item, id_prefix) = match self.grammar_arguments.get(&call.name) {
            Some(argument) => {
                self.custom_calls.insert(&call.id);
                let input = grammar_input(call, argument);
                (json!({"type": "custom_tool_call", "input": input}), "ctc_")
            }
            None => {
                let arguments = Value::Object(call.arguments.clone()).to_string();
                (json!({"type": "function_call", "arguments": arguments}), "fc_")
            }
        };
        item["call_id"] = json!(call_id);
        item["name"] = json!(call.name);
        // The server connects the items of a model to the reasoning of that model, which is not
        // sent to a sibling.
        let item_id = item_id.filter(|id| origin != Origin::Sibling && id.starts_with(id_prefix));
        if let Some(item_id) = item_id {
            item["id"] = json!(item_id);
        }
        if origin == Origin::SameModel
            && let Some(namespace) = &call.namespace
        {
            item["namespace"] = json!(namespace);
        }
        self.items.push(item);
    }

    fn tool_result(&mut self, result: &ToolResultMessage) {
        let is_custom = self.custom_calls.contains(result.tool_call_id.as_str());
        let kind = if is_custom { "custom_tool_call_output" } else { "function_call_output" };
        let (call_id, _) = split_call_id(&result.tool_call_id);
        let output = result_output(&result.content);
        self.items.push(json!({"type": kind, "call_id": call_id, "output": output}));
    }
}

/// The model that wrote an assistant message, relative to the requested model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    SameModel,
    /// Another model of the same endpoint.
    Sibling,
    Foreign,
}

impl Origin {
    fn of(message: &AssistantMessage, model: &Model) -> Self {
        if message.provider != model.provider || message.api != model.api {
            Self::Foreign
        } else if message.model == model.id {
            Self::SameModel
        } else {
            Self::Sibling
        }
    }
}

/// Reads the reasoning item from a signature. An invalid signature (a file edited by hand) loses the
/// thinking, not the conversation.
fn reasoning_item(signature: &str) -> Option<Value> {
    serde_json::from_str(signature).ok().filter(Value::is_object)
}

/// Returns the input of a grammar tool's call. Arguments of another shape, from a failed call, are
/// sent to the model unchanged.
fn grammar_input(call: &ToolCall, argument: &str) -> String {
    match call.arguments.get(argument) {
        Some(Value::String(input)) => input.clone(),
        _ if call.arguments.is_empty() => String::new(),
        _ => Value::Object(call.arguments.clone()).to_string(),
    }
}

fn input_text(text: &str) -> Value {
    json!({"type": "input_text", "text": text})
}

fn input_block(block: &UserBlock) -> Option<Value> {
    match block {
        UserBlock::Text(text) => Some(input_text(&text.text)),
        UserBlock::Image(image) => {
            let url = format!("data:{};base64,{}", image.mime_type, image.data);
            Some(json!({"type": "input_image", "detail": "auto", "image_url": url}))
        }
        UserBlock::Unknown(_) => None,
    }
}

/// Encodes a result as a string, or with images as a list: the whole text first, then the images.
fn result_output(content: &[UserBlock]) -> Value {
    let texts = content.iter().filter_map(UserBlock::as_text);
    let text = texts.collect::<Vec<_>>().join("\n");
    let is_blank = text.trim().is_empty();
    let images = content.iter().filter(|block| matches!(block, UserBlock::Image(_)));
    let images: Vec<Value> = images.filter_map(input_block).collect();
    match (images.is_empty(), is_blank) {
        (true, true) => json!(NO_OUTPUT),
        (true, false) => json!(text),
        (false, true) => Value::Array(images),
        (false, false) => std::iter::once(input_text(&text)).chain(images).collect(),
    }
}
