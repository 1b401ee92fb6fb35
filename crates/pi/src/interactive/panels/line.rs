//! A question that is answered with a line of text.

use std::rc::Rc;

use pi_tui::input::{Input, Keymap};
use pi_tui::layout::rule;
use pi_tui::{InputEvent, InputLine, Line, Lines, Token, View, text};

use super::super::panel::{Panel, PanelEvent};

/// A panel that asks for a line of text.
pub(in crate::interactive) struct LineQuestion {
    title: String,
    input: InputLine,
    hint: String,
}

impl LineQuestion {
    pub(in crate::interactive) fn new(title: impl Into<String>, keymap: &Keymap) -> Self {
        let hint = format!(
            "{} confirm  {} cancel",
            keymap.label("tui.select.confirm"),
            keymap.label("tui.select.cancel")
        );
        Self { title: title.into(), input: InputLine::new(), hint }
    }
}

impl Panel<String> for LineQuestion {
    fn render(&mut self, view: View<'_>) -> Lines {
        let theme = view.theme;
        let border = rule(view.width, theme.fg(Token::Border));
        let cut = |line: Line| text::truncate(&line, view.width, "…");
        let title = Line::styled(format!(" {}", self.title), theme.fg(Token::Accent).bold());
        let hint = Line::styled(format!(" {}", self.hint), theme.fg(Token::Dim));
        let empty = Line::new;
        Rc::from(vec![
            border.clone(),
            empty(),
            cut(title),
            empty(),
            self.input.line(view),
            empty(),
            cut(hint),
            empty(),
            border,
        ])
    }

    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<String> {
        match self.input.handle(input, keymap) {
            InputEvent::Ignored => PanelEvent::Ignored,
            InputEvent::Submit(text) => PanelEvent::Close(Some(text)),
            InputEvent::Cancel => PanelEvent::Close(None),
            _ => PanelEvent::Changed,
        }
    }
}
