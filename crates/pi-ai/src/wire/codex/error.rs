//! The texts of failures. Limits of the subscription are said in plain words.

use serde_json::Value;

use crate::wire::HttpFailure;

/// Returns the error text of `failure`.
pub(super) fn text(failure: &HttpFailure) -> String {
    match usage_limit(&failure.body) {
        Some(text) => text,
        None => failure.openai_style(Some("ChatGPT API error")),
    }
}

/// Returns the text of a limit of the subscription, if the JSON of a failure names one: the body of
/// a response, or an event of a stream.
pub(super) fn usage_limit(json: &str) -> Option<String> {
    // Cheap for the thousands of events that are no failure.
    if !json.contains("usage_limit_reached") && !json.contains("usage_not_included") {
        return None;
    }
    let whole: Value = serde_json::from_str(json.trim()).ok()?;
    if let Some(kind) = whole.get("type").and_then(Value::as_str)
        && !matches!(kind, "error" | "response.failed")
    {
        return None;
    }
    let error = whole.pointer("/response/error").or_else(|| whole.get("error"))?;
    let codes = ["code", "type"].iter().filter_map(|member| error.get(member)?.as_str());
    let limits = ["usage_limit_reached", "usage_not_included"];
    let code = codes.into_iter().find(|code| limits.contains(code))?;
    let plan = error.get("plan_type").and_then(Value::as_str).map(str::to_lowercase);
    let plan = plan.map(|plan| format!(" ({plan} plan)")).unwrap_or_default();
    if code == "usage_not_included" {
        return Some(format!(
            "Your ChatGPT plan does not include this use{plan}: usage_not_included. Use another plan \
             or an API key."
        ));
    }
    Some(format!("You have hit your ChatGPT usage limit{plan}.{}", reset(error)))
}

/// Returns the end of the limit as a sentence.
fn reset(error: &Value) -> String {
    let number = |member: &str| error.get(member).and_then(Value::as_f64);
    if let Some(seconds) = number("resets_in_seconds").filter(|seconds| *seconds >= 0.0) {
        return format!(" Try again in ~{} min.", (seconds / 60.0).ceil());
    }
    match number("resets_at") {
        // An absolute time: this module has no clock, and the text stays true in a session file.
        Some(at) if at > 0.0 => match jiff::Timestamp::from_second(at as i64) {
            Ok(at) => format!(" The limit is reset at {}.", at.strftime("%Y-%m-%d %H:%M UTC")),
            Err(_) => String::new(),
        },
        _ => String::new(),
    }
}
