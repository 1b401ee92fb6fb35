//! `find` on the screen: the pattern and where it is searched, and the first paths.

use pi_tui::Line;

use super::listing::{add_limit, add_results, add_scope};
use crate::transcript::options::Look;
use crate::transcript::tool::{Call, title};

/// Lines of results in a collapsed box.
const LINES: usize = 20;

/// Returns the content of the box.
pub(in crate::transcript) fn body(call: &Call<'_>, look: Look<'_>) -> Vec<Line> {
    let mut header = title("find", call.argument("pattern").as_deref(), look);
    add_scope(&mut header, call, look);
    add_limit(&mut header, call, look);
    let mut lines = vec![header];
    add_results(&mut lines, call, LINES, look);
    lines
}
