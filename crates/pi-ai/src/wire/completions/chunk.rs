//! A chunk of an answer.
//!
//! The types are as strict as the format and borrow from the event, so that an ordinary chunk is
//! parsed in one pass without copies. A chunk that deviates is [repaired]: it is
//! parsed as plain JSON, corrected, and parsed again. That costs more and happens rarely.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::wire::first::First;
use crate::wire::text::Text;

/// An event of the stream.
#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(default, borrow)]
    pub id: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub object: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub model: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub choices: Option<First<Choice<'a>>>,
    #[serde(default, borrow)]
    pub usage: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub error: Option<&'a RawValue>,
}

/// A candidate answer. Requests ask for one only.
#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    /// The added content; servers that cannot stream call it `message`.
    #[serde(default, borrow, alias = "message")]
    pub delta: Option<Delta<'a>>,
    #[serde(default, borrow)]
    pub finish_reason: Option<Text<'a>>,
    /// The usage report of Moonshot.
    #[serde(default, borrow)]
    pub usage: Option<&'a RawValue>,
}

/// The content that a chunk adds to the answer.
#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(default, borrow)]
    pub content: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub refusal: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub reasoning_content: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub reasoning: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub reasoning_text: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub reasoning_details: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub tool_calls: Option<Vec<CallDelta<'a>>>,
}

/// A delta of a tool call.
#[derive(Deserialize)]
pub(in crate::wire) struct CallDelta<'a> {
    #[serde(default)]
    pub index: Option<u64>,
    #[serde(default, borrow)]
    pub id: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub function: Option<FunctionDelta<'a>>,
    #[serde(default, borrow)]
    pub custom: Option<CustomDelta<'a>>,
    /// Data of a vendor; Google puts the signature of a call here.
    #[serde(default, borrow)]
    pub extra_content: Option<&'a RawValue>,
}

/// A delta of a function call.
#[derive(Deserialize)]
pub(in crate::wire) struct FunctionDelta<'a> {
    #[serde(default, borrow)]
    pub name: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub arguments: Option<Text<'a>>,
}

/// A delta of a call of a custom tool.
#[derive(Deserialize)]
pub(in crate::wire) struct CustomDelta<'a> {
    #[serde(default, borrow)]
    pub name: Option<Text<'a>>,
    #[serde(default, borrow)]
    pub input: Option<Text<'a>>,
}

/// Returns the string if it is present and not empty.
pub(in crate::wire) fn non_empty<'t>(text: &'t Option<Text<'_>>) -> Option<&'t str> {
    text.as_deref().filter(|text| !text.is_empty())
}

/// Corrects a chunk so that [`Chunk`] can parse it; `None` if the value is not a chunk at all.
pub(in crate::wire) fn repaired(value: Value) -> Option<String> {
    let mut chunk = match value {
        Value::Object(chunk) => chunk,
        // Google wraps errors in a list.
        Value::Array(list) => match list.into_iter().next()? {
            Value::Object(chunk) => chunk,
            _ => return None,
        },
        _ => return None,
    };
    keep_strings(&mut chunk, &["id", "object", "model"]);
    match chunk.get_mut("choices") {
        Some(Value::Array(choices)) => {
            choices.retain(Value::is_object);
            choices.iter_mut().filter_map(Value::as_object_mut).for_each(repair_choice);
        }
        _ => drop(chunk.remove("choices")),
    }
    Some(Value::Object(chunk).to_string())
}

fn repair_choice(choice: &mut Map<String, Value>) {
    keep_strings(choice, &["finish_reason"]);
    let message = choice.remove("message");
    let delta = choice.remove("delta").filter(Value::is_object).or(message);
    if let Some(Value::Object(mut delta)) = delta {
        repair_delta(&mut delta);
        choice.insert("delta".to_owned(), delta.into());
    }
}

fn repair_delta(delta: &mut Map<String, Value>) {
    if let Some(Value::Array(parts)) = delta.get("content") {
        let (text, thinking) = parts_to_text(parts);
        delta.insert("content".to_owned(), text.into());
        if !thinking.is_empty() {
            delta.insert("reasoning_content".to_owned(), thinking.into());
        }
    }
    let texts = ["content", "refusal", "reasoning_content", "reasoning", "reasoning_text"];
    keep_strings(delta, &texts);
    match delta.get_mut("tool_calls") {
        Some(Value::Array(calls)) => {
            calls.retain(Value::is_object);
            calls.iter_mut().filter_map(Value::as_object_mut).for_each(repair_call);
        }
        _ => drop(delta.remove("tool_calls")),
    }
}

/// Returns the text and the thinking in a list of content parts, as Mistral's models send them.
fn parts_to_text(parts: &[Value]) -> (String, String) {
    let (mut text, mut thinking) = (String::new(), String::new());
    for part in parts {
        match (part, part.get("thinking")) {
            (Value::String(part), _) => text.push_str(part),
            (_, Some(Value::String(thought))) => thinking.push_str(thought),
            (_, Some(Value::Array(thoughts))) => thinking.push_str(&parts_to_text(thoughts).0),
            _ => text.push_str(part.get("text").and_then(Value::as_str).unwrap_or_default()),
        }
    }
    (text, thinking)
}

fn repair_call(call: &mut Map<String, Value>) {
    match call.get("index") {
        Some(Value::String(digits)) => {
            let index = digits.parse::<u64>().ok();
            call.insert("index".to_owned(), json!(index));
        }
        Some(Value::Number(number)) if number.as_u64().is_none() => drop(call.remove("index")),
        Some(Value::Number(_)) | None => {}
        Some(_) => drop(call.remove("index")),
    }
    if let Some(Value::Number(id)) = call.get("id") {
        let id = id.to_string();
        call.insert("id".to_owned(), id.into());
    }
    keep_strings(call, &["id"]);
    for (kind, argument) in [("function", "arguments"), ("custom", "input")] {
        let Some(Value::Object(body)) = call.get_mut(kind) else {
            call.remove(kind);
            continue;
        };
        // Arguments that are already parsed become text again.
        if let Some(parsed @ (Value::Object(_) | Value::Array(_))) = body.get(argument) {
            let text = parsed.to_string();
            body.insert(argument.to_owned(), text.into());
        }
        keep_strings(body, &["name", argument]);
    }
}

/// Removes those of `names` that are not strings.
fn keep_strings(object: &mut Map<String, Value>, names: &[&str]) {
    for name in names {
        if object.get(*name).is_some_and(|value| !value.is_string()) {
            object.remove(*name);
        }
    }
}
