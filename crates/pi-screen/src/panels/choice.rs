//! A question of a command with a few answers to choose from.

use std::rc::Rc;

use pi_tui::input::{Input, Keymap};
use pi_tui::list::Item;
use pi_tui::{Lines, View};

use super::super::panel::{Panel, PanelEvent};
use super::question::{Answer, Question};

/// A panel that asks a question.
pub(crate) struct Choice<T> {
    question: Question<T>,
    /// The answer of a user who cancels.
    on_cancel: Option<T>,
}

impl<T: Clone> Choice<T> {
    pub(crate) fn new(
        title: &str,
        details: &str,
        answers: Vec<(T, &str)>,
        keymap: &Keymap,
    ) -> Self {
        let items = answers.into_iter().map(|(value, label)| Item::new(value, label)).collect();
        Self { question: Question::new(title, details, items, keymap), on_cancel: None }
    }

    /// Returns the panel with an answer for a user who cancels.
    pub(crate) fn on_cancel(self, answer: T) -> Self {
        Self { on_cancel: Some(answer), ..self }
    }
}

impl<T: Clone> Panel<T> for Choice<T> {
    fn render(&mut self, view: View<'_>) -> Lines {
        Rc::from(self.question.lines(view, None))
    }

    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<T> {
        match self.question.handle(input, keymap) {
            Answer::Chosen(value) => PanelEvent::Close(Some(value)),
            Answer::Cancelled => PanelEvent::Close(self.on_cancel.take()),
            Answer::Ignored => PanelEvent::Ignored,
            Answer::Changed => PanelEvent::Changed,
        }
    }
}
