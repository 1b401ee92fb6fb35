//! `codemode` on the screen: the script, the calls that it made, its output.

use pi_tui::{Line, Token, text};
use serde_json::{Map, Value};

use super::other::{self, add_arguments};
use crate::transcript::code;
use crate::transcript::layout::{expand_hint, one_line};
use crate::transcript::options::Look;
use crate::transcript::output::{counted, duration, first_lines};
use crate::transcript::tool::{Call, add_part, title_style};

/// Lines of the script in a collapsed box.
const LINES: usize = 10;
/// Calls in a collapsed box.
const CALLS: usize = 5;

/// Returns the content of the box.
pub(in crate::transcript) fn body(call: &Call<'_>, look: Look<'_>) -> Vec<Line> {
    let mut lines = vec![Line::styled(one_line(call.name), title_style(look))];
    let script = call.argument("code").unwrap_or_default();
    let script = script.trim_end();
    if !script.is_empty() {
        let (shown, left) =
            if look.is_expanded() { (script, 0) } else { first_lines(script, LINES) };
        lines.extend(code::highlighted(shown, "script.js", look));
        if left > 0 {
            lines.push(expand_hint(format!("... ({}, ", counted(left, "more")), look));
        }
    }
    add_part(&mut lines, calls(call, look));
    add_part(&mut lines, other::output(call, look));
    lines
}

/// Returns the calls of the script, the last ones in a collapsed box.
fn calls(call: &Call<'_>, look: Look<'_>) -> Vec<Line> {
    let calls = call.detail("calls").and_then(Value::as_array).map(Vec::as_slice);
    let calls = calls.unwrap_or_default();
    let hidden = if look.is_expanded() { 0 } else { calls.len().saturating_sub(CALLS) };
    let omitted = call.detail("omittedCalls").and_then(Value::as_u64).unwrap_or_default();
    let mut lines = Vec::new();
    if hidden > 0 {
        let calls = if hidden == 1 { "call" } else { "calls" };
        lines.push(expand_hint(format!("... ({hidden} earlier {calls}, "), look));
    }
    lines.extend(calls.iter().skip(hidden).map(|call| nested(call, look)));
    if omitted > 0 {
        let remark = format!("... ({omitted} more)");
        lines.push(Line::styled(remark, look.view.theme.fg(Token::Muted)));
    }
    lines
}

/// Returns a call of the script in one line: the tool, its arguments, its time or its error.
fn nested(call: &Value, look: Look<'_>) -> Line {
    let theme = look.view.theme;
    let name = one_line(call["name"].as_str().unwrap_or_default());
    let mut line = Line::styled(format!("→ {name}"), theme.fg(Token::ToolOutput));
    // The arguments are JSON, which is cut if it is long.
    let arguments = call["args"].as_str().unwrap_or_default();
    match serde_json::from_str::<Map<String, Value>>(arguments) {
        Ok(arguments) => add_arguments(&mut line, &arguments, look),
        Err(_) => line.push(format!(" {}", one_line(arguments)), theme.fg(Token::Muted)),
    }
    // The end of the line matters more than the end of the arguments.
    let mut line = text::truncate(&line, look.view.width.saturating_sub(30), "...");
    match (call["error"].as_str(), call["durationMs"].as_f64()) {
        (Some(error), _) => {
            line.push(format!(" {}", one_line(error)), theme.fg(Token::Error));
            text::truncate(&line, look.view.width, "...")
        }
        (None, Some(time)) => {
            line.push(format!(" {}", duration(time / 1000.0)), theme.fg(Token::Muted));
            line
        }
        (None, None) => {
            line.push(" ...", theme.fg(Token::Muted));
            line
        }
    }
}
