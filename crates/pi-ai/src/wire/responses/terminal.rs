//! How a response ended: the stop reason, or the error.

use pi_protocol::StopReason;
use serde_json::Value;

use crate::wire::StreamError;

/// How a finished response ended.
#[derive(Debug)]
pub(super) struct Ending {
    /// The server's own word.
    pub(super) raw: Option<String>,
    /// The stop reason; `Stop` becomes `ToolUse` if there are calls.
    pub(super) reason: Result<StopReason, StreamError>,
}

/// Reads the ending of the response that a terminal event of type `kind` carries.
pub(super) fn ending(kind: &str, response: &Value) -> Ending {
    let text = |pointer: &str| response.pointer(pointer).and_then(Value::as_str);
    // A response without a status ended as the event says.
    let from_kind = match kind {
        "response.incomplete" => Some("incomplete"),
        "response.failed" => Some("failed"),
        "response.cancelled" => Some("cancelled"),
        _ => None,
    };
    let status = text("/status").or(from_kind);
    let detail = text("/incomplete_details/reason");
    let failed = |text: String| Err(StreamError::Provider(text));
    let reason = match (status, detail) {
        _ if kind == "response.failed" => failed(failure(response)),
        (None | Some("completed" | "in_progress" | "queued"), _) => Ok(StopReason::Stop),
        (Some("incomplete"), Some("max_output_tokens")) => Ok(StopReason::Length),
        (Some("incomplete"), Some(detail)) => failed(format!("Response incomplete: {detail}")),
        (Some("incomplete"), None) => {
            failed("Response incomplete without a provider reason".to_owned())
        }
        (Some("failed"), _) => failed(failure(response)),
        (Some("cancelled"), _) => failed("The provider cancelled the response".to_owned()),
        (Some(other), _) => failed(format!("Unhandled stop reason: {other}")),
    };
    let raw = match (status, detail) {
        (Some("incomplete"), Some(detail)) => Some(format!("incomplete.{detail}")),
        _ => status.map(str::to_owned),
    };
    Ending { raw, reason }
}

/// What a failed response says about itself.
fn failure(response: &Value) -> String {
    if let Some(error) = response.get("error").filter(|error| error.is_object()) {
        let text = |member: &str| error.get(member).and_then(Value::as_str);
        let code = text("code").unwrap_or("unknown");
        let message = text("message").unwrap_or("no message");
        return format!("{code}: {message}");
    }
    match response.pointer("/incomplete_details/reason").and_then(Value::as_str) {
        Some(reason) => format!("incomplete: {reason}"),
        None => "Unknown error (no error details in response)".to_owned(),
    }
}

/// The text of an `error` event, or of an error object in place of an event. The code is part of
/// it: what can be retried and what is a matter of billing is read from there.
pub(super) fn stream_error(event: &Value) -> StreamError {
    let error = match event.get("error") {
        Some(Value::String(message)) => return StreamError::Provider(message.clone()),
        Some(error @ Value::Object(_)) => error,
        _ => event,
    };
    let text = |member: &str| {
        let text = match error.get(member)? {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        Some(text).filter(|text| !text.is_empty() && text != "error")
    };
    let message = text("message").unwrap_or_else(|| error.to_string());
    StreamError::Provider(match text("code").or_else(|| text("type")) {
        Some(code) => format!("Error Code {code}: {message}"),
        None => message,
    })
}
