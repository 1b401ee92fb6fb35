//! Answers about prompts and commands of the user, and about tool calls.

use pi_agent::OutputChange;
use pi_coding_agent::extension::{InputAction, ToolCall, ToolDecision, UserBashHandling};
use pi_coding_agent::session::BashResult;
use serde_json::Value;

use super::{field, is_true};

/// Text of the error for an answer to `user_bash` that is neither.
const INVALID_BASH: &str = "Invalid user_bash handler result: return undefined for local execution \
                            or exactly one valid { operations } or { result } object";

/// Reads `{ block?, reason?, terminate? }`, and the arguments as the handler left them.
pub(super) fn tool_call(asked: &ToolCall, result: &Value, event: &Value) -> ToolDecision {
    if is_true(result, "block") {
        let reason = result["reason"].as_str().map(str::to_owned);
        return ToolDecision::Block { reason, terminate: is_true(result, "terminate") };
    }
    let input = event["input"].as_object().filter(|input| **input != *asked.input);
    ToolDecision::Allow { input: input.cloned() }
}

/// Reads the changes of a tool result; absent fields stay as they are.
pub(super) fn tool_result(result: &Value) -> Result<OutputChange, String> {
    let mut change = OutputChange::default();
    change.content = field(result, "content")?;
    change.details = result.get("details").cloned();
    change.structured_content = result.get("structuredContent").cloned();
    change.is_error = field(result, "isError")?;
    change.usage = field(result, "usage")?;
    Ok(change)
}

/// Reads `{ action: "continue" | "transform" | "handled", text?, images? }`.
pub(super) fn input(result: &Value) -> Result<InputAction, String> {
    Ok(match result["action"].as_str() {
        Some("handled") => InputAction::Handled,
        Some("transform") => InputAction::Transform {
            text: field(result, "text")?.ok_or("`text` is missing")?,
            images: field(result, "images")?,
        },
        _ => InputAction::Continue,
    })
}

/// Reads `{ result }`. Operations are functions, which the caller has taken out.
pub(super) fn bash(result: &Value) -> Result<UserBashHandling, String> {
    if result.is_null() {
        return Ok(UserBashHandling::Default);
    }
    let given = &result["result"];
    let is_valid = result.get("operations").is_none()
        && given["output"].is_string()
        && given["cancelled"].is_boolean()
        && given["truncated"].is_boolean();
    if !is_valid {
        return Err(INVALID_BASH.to_owned());
    }
    Ok(UserBashHandling::Result(BashResult {
        output: given["output"].as_str().unwrap_or_default().to_owned(),
        exit_code: field(given, "exitCode").map_err(|_| INVALID_BASH.to_owned())?,
        cancelled: is_true(given, "cancelled"),
        truncated: is_true(given, "truncated"),
        full_output_path: field(given, "fullOutputPath")?,
    }))
}
