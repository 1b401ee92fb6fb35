//! A short message in the upper right corner, in fullscreen mode: it moves nothing.

use std::time::{Duration, Instant};

use pi_tui::{Line, PlacedOverlay, Token, View, text};

/// Time that a message is shown.
const SHOWN: Duration = Duration::from_secs(2);

/// The message, while it is shown.
#[derive(Debug, Default)]
pub(super) struct Flash {
    message: Option<(String, Instant)>,
}

impl Flash {
    /// Shows a message.
    pub(super) fn show(&mut self, message: String, now: Instant) {
        self.message = Some((message, now + SHOWN));
    }

    /// Returns the time at which the message goes away.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.message.as_ref().map(|(_, until)| *until)
    }

    /// Removes a message whose time is over. Returns true if there was one.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        self.message.take_if(|(_, until)| *until <= now).is_some()
    }

    /// Returns the message at its place.
    pub(super) fn render(&self, view: View<'_>) -> Option<PlacedOverlay> {
        let (message, _) = self.message.as_ref()?;
        let style = view.theme.fg(Token::Text).on(view.theme.bg(Token::SelectedBg));
        let line = Line::styled(format!(" {} ", text::plain(message)), style);
        let line = text::truncate(&line, view.width, "…");
        let width = line.width();
        let column = view.width.saturating_sub(width);
        Some(PlacedOverlay { row: 0, column, width, lines: [line].into() })
    }
}
