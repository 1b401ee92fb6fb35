//! The editor as the core of another component: its text with labels for long pastes, and its rows
//! without borders and menu.

use crate::buffer::Position;
use crate::component::View;
use crate::text::Line;

use super::Editor;

/// The visible rows of an editor, without its borders.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// The rows. That of the caret has it set.
    pub lines: Vec<Line>,
    /// Number of hidden rows above.
    pub above: usize,
    /// Number of hidden rows below.
    pub below: usize,
}

impl Editor {
    /// Returns the visible rows for a width.
    pub fn rows(&mut self, view: View<'_>) -> Rows {
        self.cache.clear();
        if view.width == 0 {
            return Rows::default();
        }
        self.content(view)
    }

    /// Returns the place of the caret in the displayed text.
    pub fn displayed_caret(&self) -> Position {
        let caret = self.buffer.caret();
        let before = self.buffer.line(caret.line).get(..caret.column).unwrap_or_default();
        Position::new(caret.line, self.buffer.pastes.displayed(before).len())
    }

    /// Replaces the text by one with labels for the long pastes that it keeps, and moves the caret.
    /// Can be undone.
    pub fn set_displayed_text(&mut self, text: &str, caret: Position) {
        self.leave_modes();
        self.history.leave();
        let line = text.split('\n').nth(caret.line).unwrap_or_default();
        let before = line.get(..line.floor_char_boundary(caret.column)).unwrap_or_default();
        let column = self.buffer.pastes.marked(before).len();
        let marked = self.buffer.pastes.marked(text);
        let whole = Position::default()..self.buffer.end();
        self.buffer.replace(whole, &marked);
        self.buffer.move_to(Position::new(caret.line, column));
    }
}
