//! Tools of extensions and servers, and calls of tools that do not exist: name, arguments, output.

use pi_tui::{Line, Style, Token, text};
use serde_json::{Map, Value};

use crate::transcript::layout::{one_line, text_lines};
use crate::transcript::options::Look;
use crate::transcript::output::head;
use crate::transcript::tool::{Call, add_part, title_style};

/// Lines of output in a collapsed box.
const LINES: usize = 10;
/// Columns of a value in a collapsed box.
const VALUE_COLUMNS: usize = 100;

/// Returns the output of a call.
pub(in crate::transcript) fn output(call: &Call<'_>, look: Look<'_>) -> Vec<Line> {
    let tool_output = look.view.theme.fg(Token::ToolOutput);
    let style = if call.is_known { tool_output } else { Style::PLAIN };
    head(call.text(look).trim(), LINES, look.is_expanded(), style, look)
}

/// Adds arguments to a line, each cut to a few columns.
pub(super) fn add_arguments(line: &mut Line, arguments: &Map<String, Value>, look: Look<'_>) {
    for (name, value) in arguments {
        let value = match value {
            Value::String(text) => one_line(text),
            other => one_line(&other.to_string()),
        };
        let muted = look.view.theme.fg(Token::Muted);
        let pair = Line::styled(format!(" {}={value}", one_line(name)), muted);
        line.append(&text::truncate(&pair, VALUE_COLUMNS, "..."));
    }
}

/// Returns the content of the box.
pub(in crate::transcript) fn body(call: &Call<'_>, look: Look<'_>) -> Vec<Line> {
    let mut header = Line::styled(one_line(call.name), title_style(look));
    let mut lines = Vec::new();
    if call.is_known && !look.is_expanded() {
        add_arguments(&mut header, call.arguments, look);
        lines.push(header);
    } else {
        lines.push(header);
        if !call.arguments.is_empty() {
            let json = serde_json::to_string_pretty(call.arguments).unwrap_or_default();
            add_part(&mut lines, text_lines(&json, Style::PLAIN));
        }
    }
    let output = output(call, look);
    if call.is_known || call.arguments.is_empty() {
        add_part(&mut lines, output);
    } else {
        lines.extend(output);
    }
    lines
}
