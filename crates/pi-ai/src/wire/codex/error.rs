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
        Some(at) if at > 0.0 => format!(" The limit is reset at {}.", utc(at as u64)),
        _ => String::new(),
    }
}

/// Formats seconds since 1970 as a date and time of day.
fn utc(seconds: u64) -> String {
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    // Eras of 400 years that begin on March 1, so that the leap day is the last day of a year.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute) = (of_day / 3600, of_day % 3600 / 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}
