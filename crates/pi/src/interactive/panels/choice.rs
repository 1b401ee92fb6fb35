//! A question with a few answers to choose from.

use std::rc::Rc;

use pi_tui::input::{Input, Keymap};
use pi_tui::layout::rule;
use pi_tui::list::{Item, ListEvent, SelectList};
use pi_tui::{Line, Lines, Token, View};

use super::super::panel::{Panel, PanelEvent};

/// Rows that are visible at once.
const ROWS: usize = 10;

/// A panel that asks a question.
pub(in crate::interactive) struct Choice<T> {
    title: String,
    /// Lines between the question and the answers.
    details: Vec<String>,
    list: SelectList<T>,
    hint: String,
    /// The answer of a user who cancels.
    on_cancel: Option<T>,
}

impl<T> Choice<T> {
    pub(in crate::interactive) fn new(
        title: impl Into<String>,
        answers: Vec<(T, &str)>,
        keymap: &Keymap,
    ) -> Self {
        let items = answers.into_iter().map(|(value, label)| Item::new(value, label)).collect();
        let hint = format!(
            "↑↓ select  {} confirm  {} cancel",
            keymap.label("tui.select.confirm"),
            keymap.label("tui.select.cancel")
        );
        Self {
            title: title.into(),
            details: Vec::new(),
            list: SelectList::new(items, ROWS),
            hint,
            on_cancel: None,
        }
    }

    /// Returns the panel with an answer for a user who cancels.
    pub(in crate::interactive) fn on_cancel(self, answer: T) -> Self {
        Self { on_cancel: Some(answer), ..self }
    }

    /// Returns the panel with lines below the question.
    pub(in crate::interactive) fn details(self, details: Vec<String>) -> Self {
        Self { details, ..self }
    }
}

impl<T: Clone> Panel<T> for Choice<T> {
    fn render(&mut self, view: View<'_>) -> Lines {
        let theme = view.theme;
        let border = rule(view.width, theme.fg(Token::Border));
        let inner = view.with_width(view.width.saturating_sub(2));
        let mut lines = vec![border.clone(), Line::new()];
        let mut add = |text: &str, style| {
            let wrapped = pi_tui::text::wrap(&Line::styled(text, style), inner.width);
            lines.extend(wrapped.iter().map(|line| line.indented(1, pi_tui::Style::PLAIN)));
        };
        add(&self.title, theme.fg(Token::Accent).bold());
        for detail in &self.details {
            add(detail, theme.fg(Token::Text));
        }
        lines.push(Line::new());
        let list = self.list.lines(inner);
        lines.extend(list.iter().map(|line| line.indented(1, pi_tui::Style::PLAIN)));
        lines.push(Line::new());
        let hint = Line::styled(format!(" {}", self.hint), theme.fg(Token::Dim));
        lines.push(pi_tui::text::truncate(&hint, view.width, "…"));
        lines.extend([Line::new(), border]);
        Rc::from(lines)
    }

    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<T> {
        let Input::Key(key) = input else { return PanelEvent::Ignored };
        match self.list.handle(key, keymap) {
            ListEvent::Confirmed => {
                PanelEvent::Close(self.list.selected().map(|item| item.value.clone()))
            }
            ListEvent::Cancelled => PanelEvent::Close(self.on_cancel.take()),
            ListEvent::Ignored => PanelEvent::Ignored,
            _ => PanelEvent::Changed,
        }
    }
}
