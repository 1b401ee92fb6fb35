//! A line of input with a title.

use pi_tui::input::{Input, Keymap};
use pi_tui::{InputEvent, InputLine, Line, Token, View, text};

use super::super::panel::{Panel, PanelEvent};
use super::dialog_frame::{Hints, framed, inner};
use super::question::title_lines;

/// A line of input with a title.
pub(crate) struct Entry {
    title: String,
    /// Text below the title.
    message: String,
    placeholder: Option<String>,
    line: InputLine,
    hints: Hints,
}

impl Entry {
    pub(crate) fn new(title: &str, keymap: &Keymap) -> Self {
        let hints = [("tui.input.submit", "submit"), ("tui.select.cancel", "cancel")];
        Self {
            title: title.to_owned(),
            message: String::new(),
            placeholder: None,
            line: InputLine::new(),
            hints: Hints::new(keymap, &hints),
        }
    }

    /// Hides what is entered.
    pub(super) fn masked(self) -> Self {
        Self { line: InputLine::masked(), ..self }
    }

    /// Sets a text below the title.
    pub(super) fn message(self, message: &str) -> Self {
        Self { message: message.to_owned(), ..self }
    }

    /// Sets a text that is shown while nothing is entered.
    pub(super) fn placeholder(self, placeholder: Option<String>) -> Self {
        Self { placeholder, ..self }
    }

    /// Returns the lines. `countdown` is the time that is left, in seconds.
    pub(super) fn lines(&mut self, view: View<'_>, countdown: Option<u64>) -> Vec<Line> {
        let inside = inner(view);
        let mut body = vec![Line::new()];
        body.extend(title_lines(&self.title, countdown, inside));
        if !self.message.is_empty() {
            for line in self.message.split('\n') {
                body.extend(text::wrap(&Line::plain(line), inside.width));
            }
        }
        body.push(Line::new());
        let mut line = self.line.line(inside);
        if let Some(placeholder) = self.placeholder.as_ref().filter(|_| self.line.is_empty()) {
            let room = inside.width.saturating_sub(line.width());
            let placeholder = Line::styled(placeholder.as_str(), inside.theme.fg(Token::Dim));
            line.append(&text::truncate(&placeholder, room, "…"));
        }
        body.push(line);
        body.push(Line::new());
        body.extend(self.hints.lines(inside));
        body.push(Line::new());
        framed(&body, view)
    }
}

impl Panel<String> for Entry {
    fn render(&mut self, view: View<'_>) -> Vec<Line> {
        self.lines(view, None)
    }

    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<String> {
        match self.line.handle(input, keymap) {
            InputEvent::Submit(text) => PanelEvent::Close(Some(text)),
            InputEvent::Cancel => PanelEvent::Close(None),
            InputEvent::Changed | InputEvent::Handled => PanelEvent::Changed,
            _ => PanelEvent::Ignored,
        }
    }
}
