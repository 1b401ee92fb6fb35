//! `grep` on the screen: the pattern and where it is searched, and the first matches.

use pi_tui::{Line, Token};

use super::listing::{add_limit, add_results, add_scope};
use crate::transcript::layout::one_line;
use crate::transcript::options::Look;
use crate::transcript::tool::{Call, title};

/// Lines of results in a collapsed box.
const LINES: usize = 15;

/// Returns the content of the box.
pub(in crate::transcript) fn body(call: &Call<'_>, look: Look<'_>) -> Vec<Line> {
    let pattern = call.argument("pattern").map(|pattern| format!("/{pattern}/"));
    let mut header = title("grep", pattern.as_deref(), look);
    add_scope(&mut header, call, look);
    if let Some(glob) = call.argument("glob") {
        let style = look.view.theme.fg(Token::ToolOutput);
        header.push(format!(" ({})", one_line(&glob)), style);
    }
    add_limit(&mut header, call, look);
    let mut lines = vec![header];
    add_results(&mut lines, call, LINES, look);
    lines
}
