//! `ls` on the screen: the directory and its first entries.

use pi_tui::Line;

use super::listing::{add_limit, add_results};
use crate::transcript::options::Look;
use crate::transcript::tool::{Call, short_path, title};

/// Lines of results in a collapsed box.
const LINES: usize = 20;

/// Returns the content of the box.
pub(in crate::transcript) fn body(call: &Call<'_>, look: Look<'_>) -> Vec<Line> {
    let path = call.argument("path");
    let path = path.as_deref().filter(|path| !path.is_empty()).unwrap_or(".");
    let mut header = title("ls", Some(&short_path(path, look)), look);
    add_limit(&mut header, call, look);
    let mut lines = vec![header];
    add_results(&mut lines, call, LINES, look);
    lines
}
