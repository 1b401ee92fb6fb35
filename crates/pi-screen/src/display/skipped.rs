//! A line in the place of earlier blocks.

use pi_tui::text;
use pi_tui::{Block, Line, Lines, Token, View};

/// A line in the place of the blocks that the regular screen does not write at first.
pub(super) struct Skipped(pub(super) usize);

impl Block for Skipped {
    fn render(&mut self, view: View<'_>) -> Lines {
        let text = format!(" … {} earlier entries: see /tree, or use fullscreen mode", self.0);
        let line = Line::styled(text, view.theme.fg(Token::Dim));
        [text::truncate(&line, view.width, "…")].into()
    }
}
