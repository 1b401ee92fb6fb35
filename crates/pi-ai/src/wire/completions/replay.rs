//! Encodes an earlier answer.
//!
//! The content is always a plain string: some models mirror a list of parts in their next answer.
//! Thinking is sent back in the field that its signature names, or as the structured
//! `reasoning_details` that the signature contains.

use pi_protocol::{AssistantBlock, AssistantMessage, ThinkingContent, ToolCall};
use serde_json::{Map, Value, json};

use super::messages::{Wire, text_part};
use super::{reasoning, signature};

/// Encodes an answer; `None` if nothing of it can be sent.
pub(super) fn assistant(wire: &Wire<'_>, answer: &AssistantMessage) -> Option<Value> {
    let mut texts = Vec::new();
    let mut thoughts = Vec::new();
    let mut calls = Vec::new();
    let mut details = Vec::new();
    let mut old_details = Vec::new();
    for block in &answer.content {
        match block {
            AssistantBlock::Text(text) if !text.text.trim().is_empty() => {
                texts.push(text.text.as_str());
            }
            AssistantBlock::Thinking(thinking) => {
                if details.is_empty() {
                    details = reasoning::details_in(thinking.thinking_signature.as_deref());
                }
                if !thinking.thinking.trim().is_empty() {
                    thoughts.push(thinking);
                }
            }
            AssistantBlock::ToolCall(call) => {
                old_details.extend(reasoning::detail_in(call.thought_signature.as_deref()));
                calls.push(tool_call(wire, call));
            }
            AssistantBlock::Text(_) | AssistantBlock::Unknown(_) => {}
        }
    }

    if details.is_empty() {
        details = old_details;
    }

    let mut message = Map::new();
    message.insert("role".to_owned(), "assistant".into());
    if wire.compat.thinking_as_text && !thoughts.is_empty() {
        let thinking = join(&thoughts, "\n\n");
        let parts = std::iter::once(thinking.as_str()).chain(texts).map(text_part);
        message.insert("content".to_owned(), parts.collect());
    } else {
        let content = match texts.concat() {
            text if !text.is_empty() => text.into(),
            _ if wire.compat.assistant_after_tool_result => "".into(),
            _ => Value::Null,
        };
        message.insert("content".to_owned(), content);
        if details.is_empty()
            && let Some(field) = field_of(&thoughts, &answer.provider)
        {
            message.insert(field.to_owned(), join(&thoughts, "\n").into());
        }
    }
    let says_nothing = match &message["content"] {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        _ => false,
    };
    if says_nothing && calls.is_empty() {
        return None;
    }
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), calls.into());
    }
    if !details.is_empty() {
        message.insert("reasoning_details".to_owned(), details.into());
    }
    if wire.compat.reasoning_content && wire.model.reasoning {
        message.entry("reasoning_content").or_insert_with(|| "".into());
    }
    Some(message.into())
}

fn join(thoughts: &[&ThinkingContent], separator: &str) -> String {
    let texts: Vec<&str> = thoughts.iter().map(|thought| thought.thinking.as_str()).collect();
    texts.join(separator)
}

/// Returns the field that carried the thinking.
fn field_of(thoughts: &[&ThinkingContent], provider: &str) -> Option<&'static str> {
    let signature = thoughts.first()?.thinking_signature.as_deref()?;
    reasoning::Field::named(signature).map(|field| field.as_sent_to(provider).name())
}

fn tool_call(wire: &Wire<'_>, call: &ToolCall) -> Value {
    let arguments = || serde_json::to_string(&call.arguments).unwrap_or_else(|_| "{}".to_owned());
    let Some(argument) = wire.grammar_tools.argument(&call.name) else {
        let function = json!({"name": call.name, "arguments": arguments()});
        let mut wire = json!({"id": call.id, "type": "function", "function": function});
        if let Some(extra) = signature::write(call.thought_signature.as_deref()) {
            wire["extra_content"] = extra;
        }
        return wire;
    };
    // A failed call may lack the argument. The model sees its own input as far as it is known;
    // an error would make the conversation unusable.
    let input = call.arguments.get(argument).and_then(Value::as_str);
    let input = input.map_or_else(arguments, str::to_owned);
    json!({"id": call.id, "type": "custom", "custom": {"name": call.name, "input": input}})
}
