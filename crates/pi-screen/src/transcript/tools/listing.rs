//! The part that the search tools share: lines of results, and the limits that were reached.

use pi_tui::{Line, Token};
use serde_json::Value;

use crate::transcript::layout::text_lines;
use crate::transcript::options::Look;
use crate::transcript::output::head;
use crate::transcript::tool::{Call, add_part};

/// Limits that tools report in `details`, with their names.
const LIMITS: &[(&str, &str)] = &[
    ("matchLimitReached", "matches limit"),
    ("resultLimitReached", "results limit"),
    ("entryLimitReached", "entries limit"),
];

/// Adds the results to a box: `most` lines, or all if the call is expanded.
pub(super) fn add_results(lines: &mut Vec<Line>, call: &Call<'_>, most: usize, look: Look<'_>) {
    let theme = look.view.theme;
    let text = call.text(look);
    let limits = limits(call);
    // The remark for the model at the end says the same as the one for the user.
    let shown = match text.rfind("\n\n[") {
        Some(at) if !limits.is_empty() && text.ends_with(']') => text.get(..at).unwrap_or(&text),
        _ => &text,
    };
    let style = theme.fg(Token::ToolOutput);
    add_part(lines, head(shown.trim(), most, look.is_expanded(), style, look));
    if !limits.is_empty() {
        let remark = format!("[Truncated: {}]", limits.join(", "));
        lines.extend(text_lines(&remark, theme.fg(Token::Warning)));
    }
}

/// Adds ` in PATH` and ` limit N` to the title of a search.
pub(super) fn add_scope(line: &mut Line, call: &Call<'_>, look: Look<'_>) {
    let style = look.view.theme.fg(Token::ToolOutput);
    let path = call.argument("path");
    let path = path.as_deref().filter(|path| !path.is_empty()).unwrap_or(".");
    let path = crate::transcript::tool::short_path(path, look);
    let path = crate::transcript::layout::one_line(&path);
    line.push(format!(" in {path}"), style);
}

/// Adds the limit that the call sets.
pub(super) fn add_limit(line: &mut Line, call: &Call<'_>, look: Look<'_>) {
    if let Some(limit) = call.number("limit") {
        line.push(format!(" limit {limit}"), look.view.theme.fg(Token::ToolOutput));
    }
}

fn limits(call: &Call<'_>) -> Vec<String> {
    let mut limits = Vec::new();
    for (key, name) in LIMITS {
        if let Some(count) = call.detail(key).and_then(Value::as_f64) {
            limits.push(format!("{count} {name}"));
        }
    }
    if let Some(cut) = call.detail("truncation").filter(|cut| cut["truncated"] == true) {
        let bytes = cut["maxBytes"].as_u64().unwrap_or_default();
        limits.push(format!("{:.1}KB limit", bytes as f64 / 1024.0));
    }
    if call.detail("linesTruncated").is_some() {
        limits.push("some lines truncated".to_owned());
    }
    limits
}
