//! Calls of grammar tools: plain text on the wire, one JSON string argument in the message.
//!
//! The text is encoded delta by delta, so that the deltas of such a call are JSON like those of any
//! other call.

use pi_protocol::MessageBuilder;
use serde_json::Value;

use super::slots::Slot;

/// Name of the argument of a tool that was not declared in this conversation.
const DEFAULT_ARGUMENT: &str = "input";

/// The input of a call so far, and the name of its argument.
#[derive(Debug)]
pub(super) struct CustomInput {
    argument: String,
    text: String,
}

impl CustomInput {
    /// Starts without input, for a tool whose only argument is `argument`.
    pub(super) fn new(argument: Option<&str>) -> Self {
        let argument = argument.unwrap_or(DEFAULT_ARGUMENT).to_owned();
        Self { argument, text: String::new() }
    }
}

/// Appends input, as a part of a JSON string.
pub(super) fn delta(slot: &mut Slot, delta: &str, out: &mut MessageBuilder) {
    if delta.is_empty() {
        return;
    }
    let Some(custom) = &mut slot.custom else { return };
    let mut json = String::new();
    if custom.text.is_empty() {
        json.push('{');
        json.push_str(&Value::from(custom.argument.as_str()).to_string());
        json.push_str(":\"");
    }
    custom.text.push_str(delta);
    let quoted = Value::from(delta).to_string();
    json.push_str(quoted.get(1..quoted.len() - 1).unwrap_or_default());
    out.delta(slot.content_index, &json);
}

/// Takes the complete input: text that extends the input so far becomes a delta; text that
/// contradicts it replaces it.
pub(super) fn whole(slot: &mut Slot, whole: &str, out: &mut MessageBuilder) {
    let Some(custom) = &mut slot.custom else { return };
    match whole.strip_prefix(custom.text.as_str()) {
        Some("") => {}
        Some(rest) => delta(slot, rest, out),
        None if whole.is_empty() => {}
        None => whole.clone_into(&mut custom.text),
    }
}

/// Completes the input: closes the JSON string, or replaces it if the input was corrected.
pub(super) fn end(slot: &Slot, out: &mut MessageBuilder) {
    let Some(custom) = &slot.custom else { return };
    let argument = Value::from(custom.argument.as_str());
    let text = Value::from(custom.text.as_str());
    out.complete_arguments(slot.content_index, &format!("{{{argument}:{text}}}"));
}
