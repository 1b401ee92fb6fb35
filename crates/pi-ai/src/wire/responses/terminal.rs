//! The end of a response: the stop reason or the error.

use pi_protocol::StopReason;
use serde_json::Value;

use crate::wire::StreamError;

/// The end of a finished response.
#[derive(Debug)]
pub(super) struct Ending {
    /// The reason as the server sent it.
    pub(super) raw: Option<String>,
    /// The stop reason; `Stop` becomes `ToolUse` later if there are calls.
    pub(super) reason: Result<StopReason, StreamError>,
}

/// Reads the end of the response in a terminal event of type `kind`.
pub(super) fn ending(kind: &str, response: &Value) -> Ending {
    let text = |pointer: &str| response.pointer(pointer).and_then(Value::as_str);
    // Without a status, the type of the event decides.
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

/// Returns the error text of a failed response.
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

/// Returns the error of an `error` event, or of an error object in place of an event. The text
/// includes the code, from which transient failures and billing problems are recognized.
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
