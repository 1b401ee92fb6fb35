//! `read` on the screen: the path and the range; the content only if expanded.

use std::path::Path;

use pi_protocol::UserBlock;
use pi_tui::{Line, Token};

use crate::transcript::code;
use crate::transcript::layout::one_line;
use crate::transcript::options::Look;
use crate::transcript::output::head;
use crate::transcript::tool::{Call, add_part, short_path, title, title_style};

/// Lines of an error in a collapsed box.
const ERROR_LINES: usize = 10;

/// Files with instructions for agents.
const CONTEXT_FILES: &[&str] = &["AGENTS.md", "CLAUDE.md"];

/// Returns the content of the box.
pub(in crate::transcript) fn body(call: &Call<'_>, look: Look<'_>) -> Vec<Line> {
    let theme = look.view.theme;
    let path = call.argument("path").or_else(|| call.argument("file_path"));
    let path = path.as_deref();
    let mut lines = vec![header(call, path, look)];
    let text = call.text(look);
    let output = theme.fg(Token::ToolOutput);
    if call.has_failed() {
        add_part(&mut lines, head(&text, ERROR_LINES, look.is_expanded(), output, look));
    } else if look.is_expanded() && !text.trim().is_empty() {
        let is_image = call.output.is_some_and(|output| {
            output.content.iter().any(|block| matches!(block, UserBlock::Image(_)))
        });
        let content = match path {
            Some(path) if !is_image => code::highlighted(text.trim_end(), path, look),
            _ => head(&text, 0, true, output, look),
        };
        add_part(&mut lines, content);
    }
    lines
}

fn header(call: &Call<'_>, path: Option<&str>, look: Look<'_>) -> Line {
    let theme = look.view.theme;
    let shown = path.map(|path| short_path(path, look));
    let name = path.and_then(|path| Path::new(path).file_name()).and_then(|name| name.to_str());
    let is_short = !look.is_expanded() && !call.has_failed();
    let mut line = match name {
        Some("SKILL.md") if is_short => {
            let skill = path.and_then(|path| Path::new(path).parent()?.file_name()?.to_str());
            let mut line = Line::styled("[skill]", theme.fg(Token::CustomMessageLabel).bold());
            let text = format!(" {}", one_line(skill.unwrap_or("SKILL.md")));
            line.push(text, theme.fg(Token::CustomMessageText));
            line
        }
        Some(name) if is_short && CONTEXT_FILES.contains(&name) => {
            let mut line = Line::styled("read resource", title_style(look));
            let text = format!(" {}", one_line(shown.as_deref().unwrap_or(name)));
            line.push(text, theme.fg(Token::Accent));
            line
        }
        _ => return with_range(title("read", shown.as_deref(), look), call, look),
    };
    line = with_range(line, call, look);
    if !look.options.expand_key.is_empty() {
        let hint = format!(" ({} to expand)", look.options.expand_key);
        line.push(hint, theme.fg(Token::Dim));
    }
    line
}

/// Adds the range of lines: `:3-4`.
fn with_range(mut line: Line, call: &Call<'_>, look: Look<'_>) -> Line {
    let (offset, limit) = (call.number("offset"), call.number("limit"));
    let first = offset.unwrap_or(1.0).max(1.0);
    let range = match (offset, limit) {
        (None, None) => return line,
        (_, None) => format!(":{first}"),
        (_, Some(limit)) => format!(":{first}-{}", (first + limit - 1.0).max(first)),
    };
    line.push(range, look.view.theme.fg(Token::Warning));
    line
}
