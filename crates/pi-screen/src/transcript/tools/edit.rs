//! `edit` on the screen: the path and the whole diff, before the call has run if it can be known.

use pi_tui::diff::diff_lines;
use pi_tui::{Line, Token};
use serde_json::Value;

use crate::transcript::layout::text_lines;
use crate::transcript::options::Look;
use crate::transcript::tool::{Call, add_part, short_path, title};

/// Returns the content of the box.
pub(in crate::transcript) fn body(call: &Call<'_>, look: Look<'_>) -> Vec<Line> {
    let path = call.argument("path").or_else(|| call.argument("file_path"));
    let shown = path.as_deref().map(|path| short_path(path, look));
    let mut lines = vec![title("edit", shown.as_deref(), look)];
    if call.has_failed() {
        let text = call.text(look);
        let text = text.trim();
        if !text.is_empty() {
            add_part(&mut lines, text_lines(text, look.view.theme.fg(Token::Error)));
        }
        return lines;
    }
    if let Some(diff) = call.detail("diff").and_then(Value::as_str).or(call.preview) {
        add_part(&mut lines, diff_lines(diff, look.view));
    }
    lines
}
