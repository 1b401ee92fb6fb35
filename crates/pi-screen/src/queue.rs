//! The messages that wait, above the editor.

use std::path::PathBuf;

use pi_tui::input::Keymap;
use pi_tui::{Line, Token, View, text};

/// A message of the user: the text, in which the paths of attached images are words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) text: String,
    pub(crate) images: Vec<PathBuf>,
}

impl Message {
    /// Creates a message without images.
    pub(crate) fn new(text: String) -> Self {
        Self { text, images: Vec::new() }
    }
}

/// The messages that wait.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Queue {
    pub(super) steering: Vec<String>,
    pub(super) follow_up: Vec<String>,
    /// Messages that are sent after the compaction.
    pub(super) after_compaction: Vec<Message>,
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.steering.is_empty() && self.follow_up.is_empty() && self.after_compaction.is_empty()
    }

    /// Returns one line for each message, and a hint.
    pub(super) fn render(&self, view: View<'_>, keymap: &Keymap) -> Vec<Line> {
        if self.is_empty() {
            return Vec::new();
        }
        let dim = view.theme.fg(Token::Dim);
        let row = |label: &str, message: &str| {
            let first = message.lines().next().unwrap_or_default();
            let line = Line::styled(format!(" {label}: {}", text::plain(first)), dim);
            text::truncate(&line, view.width, "...")
        };
        let waiting = self.after_compaction.iter().map(|message| &message.text);
        let steering = self.steering.iter().chain(waiting);
        let mut lines = vec![Line::new()];
        lines.extend(steering.map(|message| row("Steering", message)));
        lines.extend(self.follow_up.iter().map(|message| row("Follow-up", message)));
        let keys = keymap.label("app.message.dequeue");
        let key = keys.split('/').next().unwrap_or_default();
        let hint = Line::styled(format!(" ↳ {key} takes the messages back"), dim);
        lines.push(text::truncate(&hint, view.width, "..."));
        lines
    }
}
