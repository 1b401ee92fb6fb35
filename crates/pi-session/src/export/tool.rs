//! A tool call and its result as a card: one line, which opens to show everything.

use std::sync::Arc;

use pi_protocol::{ImageContent, ToolResultMessage, UserBlock};
use serde_json::Value;

use super::call::DescribedCall;
use super::highlight::Highlighter;
use super::prose::code_block;
use super::unit::Form;
use super::{ansi, escape};

/// A card with a diff of at most this many lines is open initially.
const SHORT_DIFF: usize = 24;

/// A tool result and its entry.
pub(super) struct Outcome {
    pub(super) id: String,
    pub(super) label: Option<String>,
    pub(super) result: Arc<ToolResultMessage>,
}

/// Appends a card. Either the call or the result may be missing.
pub(super) fn card(
    out: &mut String,
    described: Option<&DescribedCall<'_>>,
    outcome: Option<&Outcome>,
    form: Form,
    highlighter: &mut Highlighter,
) {
    let result = outcome.map(|outcome| &*outcome.result);
    let name =
        described.map(|described| &described.call.name).or(result.map(|result| &result.tool_name));
    let name = name.map_or("tool", String::as_str);
    let failed = result.is_some_and(|result| result.is_error);
    let diff = if failed { None } else { result.and_then(diff_of) };
    out.push_str("<details class=\"tool");
    out.push_str(if failed { " failed\"" } else { "\"" });
    if let Some(outcome) = outcome {
        out.push_str(match form {
            Form::Page => " id=\"",
            Form::Fragment => " data-entry=\"",
        });
        escape::text(out, &outcome.id);
        out.push('"');
    }
    let id = described.map(|described| &described.call.id);
    if let Some(id) = id.or(result.map(|result| &result.tool_call_id))
        && form == Form::Fragment
    {
        out.push_str(" data-call=\"");
        escape::text(out, id);
        out.push('"');
    }
    if diff.is_some_and(|diff| diff.lines().count() <= SHORT_DIFF) {
        out.push_str(" open");
    }
    out.push_str("><summary><span class=\"name\">");
    escape::text(out, name);
    out.push_str("</span> <span class=\"what\">");
    escape::text(out, described.map_or("", |described| &described.summary));
    out.push_str("</span>");
    if let Some(label) = outcome.and_then(|outcome| outcome.label.as_ref()) {
        out.push_str(" <span class=\"label\">");
        escape::text(out, label);
        out.push_str("</span>");
    }
    state(out, result, failed);
    out.push_str("</summary>\n<div class=\"inside\">");
    if let Some(described) = described {
        arguments(out, described, diff.is_some(), highlighter);
    }
    match (diff, result) {
        (Some(text), _) => write_diff(out, text.lines().map(|line| (kind_of(line), line))),
        (None, Some(result)) => output(out, described, result, highlighter),
        (None, None) => {}
    }
    out.push_str("</div></details>\n");
}

/// Appends the end of the summary line: status and duration.
fn state(out: &mut String, result: Option<&ToolResultMessage>, failed: bool) {
    let duration = result.and_then(|result| result.duration_ms).filter(|ms| *ms >= 100.0);
    if let Some(ms) = duration {
        out.push_str(&format!(" <span class=\"time\">{:.1} s</span>", ms / 1e3));
    }
    if failed {
        out.push_str(" <span class=\"state\">failed</span>");
    } else if result.is_none() {
        out.push_str(" <span class=\"state\">no result</span>");
    }
}

/// Appends the arguments that neither the summary nor the diff of the result shows.
fn arguments(
    out: &mut String,
    described: &DescribedCall<'_>,
    diff_shown: bool,
    highlighter: &mut Highlighter,
) {
    let call = described.call;
    if let Some(problem) = &call.arguments_error {
        out.push_str("<pre class=\"error\">");
        escape::text(out, problem);
        out.push_str("</pre>\n");
    }
    if described.is_summary_complete() {
        return;
    }
    let replacements = described.replacements();
    if let Some(script) = described.script() {
        code_block(out, script, "sh", highlighter);
    } else if let Some(content) = described.new_content() {
        code_block(out, content, described.extension(), highlighter);
    } else if replacements.is_empty() {
        let json = serde_json::to_string_pretty(&call.arguments).unwrap_or_default();
        code_block(out, &json, "json", highlighter);
    } else if !diff_shown {
        for (old, new) in replacements {
            let old = old.lines().map(|line| ("del", line));
            write_diff(out, old.chain(new.lines().map(|line| ("add", line))));
        }
    }
}

fn output(
    out: &mut String,
    described: Option<&DescribedCall<'_>>,
    result: &ToolResultMessage,
    highlighter: &mut Highlighter,
) {
    let file = described.filter(|described| described.returns_file() && !result.is_error);
    for block in &result.content {
        match block {
            UserBlock::Text(text) if text.text.is_empty() => {}
            UserBlock::Text(text) => {
                if let Some(file) = file {
                    code_block(out, &text.text, file.extension(), highlighter);
                    continue;
                }
                let class = if result.is_error { "output error" } else { "output" };
                out.push_str(&format!("<pre class=\"{class}\" tabindex=\"0\">"));
                ansi::write(out, text.text.trim_end());
                out.push_str("</pre>\n");
            }
            UserBlock::Image(content) => image(out, content),
            UserBlock::Unknown(fields) => raw(out, fields),
        }
    }
}

/// Appends an image, or a note about one that cannot be shown.
pub(super) fn image(out: &mut String, image: &ImageContent) {
    if !escape::is_image(&image.mime_type, &image.data) {
        out.push_str("<p class=\"missing\">Image not shown (");
        escape::text(out, &escape::one_line(&image.mime_type, 60));
        out.push_str(")</p>");
        return;
    }
    out.push_str("<img alt=\"Image\" decoding=\"async\" src=\"data:");
    out.push_str(&image.mime_type);
    out.push_str(";base64,");
    out.push_str(&image.data);
    out.push_str("\">");
}

/// Appends an unknown value as JSON.
pub(super) fn raw(out: &mut String, value: &impl serde::Serialize) {
    out.push_str("<pre class=\"code\" tabindex=\"0\">");
    escape::text(out, &serde_json::to_string_pretty(value).unwrap_or_default());
    out.push_str("</pre>\n");
}

/// Returns the diff in the details of a result, which tools that edit files provide for display.
pub(super) fn diff_of(result: &ToolResultMessage) -> Option<&str> {
    result.details.as_ref()?.get("diff").and_then(Value::as_str).filter(|diff| !diff.is_empty())
}

fn kind_of(line: &str) -> &'static str {
    match line.as_bytes().first() {
        Some(b'+') => "add",
        Some(b'-') => "del",
        _ => "",
    }
}

fn write_diff<'a>(out: &mut String, lines: impl Iterator<Item = (&'static str, &'a str)>) {
    out.push_str("<pre class=\"diff\" tabindex=\"0\">");
    for (kind, line) in lines {
        // One element per line, so that its color spans the whole width.
        out.push_str("<span class=\"line ");
        out.push_str(kind);
        out.push_str("\">");
        escape::text(out, line);
        out.push_str("\n</span>");
    }
    out.push_str("</pre>\n");
}
