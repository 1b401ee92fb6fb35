//! Images in messages and results: as images if the terminal has them, else a line of text.

use pi_protocol::{ImageContent, UserBlock};
use pi_tui::Line;

use super::options::Look;

/// Returns the text in the place of an image: its type, and its size if it is known.
pub(super) fn fallback(image: &ImageContent) -> String {
    format!("[Image: [{}]]", image.mime_type)
}

/// Returns the images of a result as lines below its box.
pub(super) fn below(_content: &[UserBlock], _look: Look<'_>) -> Vec<Line> {
    Vec::new()
}
