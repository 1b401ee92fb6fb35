//! `write` on the screen: the path and the beginning of the content, also while it streams.

use pi_tui::{Line, Token};

use crate::transcript::code;
use crate::transcript::layout::{expand_hint, text_lines};
use crate::transcript::options::Look;
use crate::transcript::output::{counted, first_lines, last_lines};
use crate::transcript::tool::{Call, add_part, short_path, title};

/// Lines of content in a collapsed box.
const LINES: usize = 10;

/// Lines of content in an expanded box while the content arrives. All of them would be highlighted
/// with every frame.
const STREAMED_LINES: usize = 60;

/// Returns the content of the box.
pub(in crate::transcript) fn body(call: &Call<'_>, look: Look<'_>) -> Vec<Line> {
    let path = call.argument("path").or_else(|| call.argument("file_path"));
    let shown = path.as_deref().map(|path| short_path(path, look));
    let mut lines = vec![title("write", shown.as_deref(), look)];
    let content = call.argument("content");
    if let Some(content) = content.as_deref().map(str::trim_end).filter(|text| !text.is_empty()) {
        let path = path.as_deref().unwrap_or_default();
        let (earlier, visible, left) = match (look.is_expanded(), call.is_streaming) {
            (false, _) => {
                let (first, left) = first_lines(content, LINES);
                (0, first, left)
            }
            (true, false) => (0, content, 0),
            (true, true) => {
                let (earlier, last) = last_lines(content, STREAMED_LINES);
                (earlier, last, 0)
            }
        };
        let mut part = Vec::new();
        if earlier > 0 {
            let remark = format!("... ({})", counted(earlier, "earlier"));
            part.push(Line::styled(remark, look.view.theme.fg(Token::Muted)));
        }
        part.extend(code::highlighted(visible, path, look));
        if left > 0 {
            let remark = format!("... ({}, {} total, ", counted(left, "more"), left + LINES);
            part.push(expand_hint(remark, look));
        }
        add_part(&mut lines, part);
    }
    if call.has_failed() {
        let text = call.text(look);
        let text = text.trim();
        if !text.is_empty() {
            add_part(&mut lines, text_lines(text, look.view.theme.fg(Token::Error)));
        }
    }
    lines
}
