//! A question of a command that is answered with a line of text.

use std::rc::Rc;

use pi_tui::input::{Input, Keymap};
use pi_tui::{InputLine, Lines, View};

use super::super::panel::{Panel, PanelEvent};
use super::entry::Entry;
use super::question::Answer;

/// A panel that asks for a line of text.
pub(crate) struct LineQuestion(Entry);

impl LineQuestion {
    pub(crate) fn new(title: &str, keymap: &Keymap) -> Self {
        Self(Entry::new(title, InputLine::new(), keymap))
    }
}

impl Panel<String> for LineQuestion {
    fn render(&mut self, view: View<'_>) -> Lines {
        Rc::from(self.0.lines(view, None))
    }

    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<String> {
        match self.0.handle(input, keymap) {
            Answer::Chosen(text) => PanelEvent::Close(Some(text)),
            Answer::Cancelled => PanelEvent::Close(None),
            Answer::Ignored => PanelEvent::Ignored,
            Answer::Changed => PanelEvent::Changed,
        }
    }
}
