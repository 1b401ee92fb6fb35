//! `bash` on the screen: the command, the end of its output, limits, time.

use pi_tui::{Line, Token};
use serde_json::Value;

use crate::transcript::layout::{expand_hint, text_lines};
use crate::transcript::options::Look;
use crate::transcript::output::{counted, duration, split_remark, tail};
use crate::transcript::tool::{Call, Time, add_part, title_style};

/// Rows of output in a collapsed box.
const ROWS: usize = 5;

/// Begins the result of a command that was denied. Its time is that of the question.
const NOT_RUN: &str = "This was not run";

/// Returns the content of the box.
pub(in crate::transcript) fn body(call: &Call<'_>, look: Look<'_>) -> Vec<Line> {
    let theme = look.view.theme;
    let muted = theme.fg(Token::Muted);
    let command = call.argument("command");
    let command = command.as_deref().map_or("...", str::trim_end);
    let mut lines = text_lines(&format!("$ {command}"), title_style(look));
    if let (Some(seconds), Some(last)) = (call.number("timeout"), lines.last_mut()) {
        last.push(format!(" (timeout {seconds}s)"), muted);
    }
    let text = call.text(look);
    // The remark for the model is replaced by one for the user.
    let (shown, after) = match split_remark(&text, "\n\n[Showing ") {
        Some((before, _, after)) if call.detail("truncation").is_some() => (before, after),
        _ => (text.trim(), ""),
    };
    let whole = format!("{}{after}", shown.trim_start_matches('\n').trim_end());
    if !whole.is_empty() {
        let output = theme.fg(Token::ToolOutput);
        let (rows, hidden) = tail(&whole, ROWS, look.is_expanded(), output, look.view.width);
        lines.push(Line::new());
        if hidden > 0 {
            lines.push(expand_hint(format!("... ({}, ", counted(hidden, "earlier")), look));
        }
        lines.extend(rows);
    }
    add_part(&mut lines, limits(call, look));
    if !text.starts_with(NOT_RUN) {
        add_part(&mut lines, time(call, look));
    }
    lines
}

/// Returns the remark on output that was cut, and the file that has all of it.
fn limits(call: &Call<'_>, look: Look<'_>) -> Vec<Line> {
    let mut remarks = Vec::new();
    if let Some(path) = call.detail("fullOutputPath").and_then(Value::as_str) {
        remarks.push(format!("Full output: {path}"));
    }
    if let Some(cut) = call.detail("truncation").filter(|cut| cut["truncated"] == true) {
        let count = |name: &str| cut[name].as_u64().unwrap_or_default();
        remarks.push(if cut["truncatedBy"] == "bytes" {
            format!(
                "Truncated: {} lines shown, {} limit",
                count("outputLines"),
                size(count("maxBytes"))
            )
        } else {
            format!("Truncated: showing {} of {} lines", count("outputLines"), count("totalLines"))
        });
    }
    if remarks.is_empty() {
        return Vec::new();
    }
    text_lines(&format!("[{}]", remarks.join(". ")), look.view.theme.fg(Token::Warning))
}

fn time(call: &Call<'_>, look: Look<'_>) -> Vec<Line> {
    let text = match call.time {
        Some(Time::Elapsed(seconds)) => format!("Elapsed {}", duration(seconds)),
        Some(Time::Took(seconds)) => format!("Took {}", duration(seconds)),
        None => return Vec::new(),
    };
    vec![Line::styled(text, look.view.theme.fg(Token::Muted))]
}

fn size(bytes: u64) -> String {
    format!("{:.1}KB", bytes as f64 / 1024.0)
}
