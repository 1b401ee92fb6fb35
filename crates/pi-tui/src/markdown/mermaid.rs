//! Diagrams in Mermaid as Unicode boxes.

use super::piece::Context;
use crate::line::Line;

/// Returns the lines of a diagram, or nothing if it is not supported or too wide.
pub(super) fn lines(_source: &str, _context: &Context<'_>) -> Option<Vec<Line>> {
    None
}
