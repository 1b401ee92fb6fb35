//! Chooses the part of the last answer that is copied.

use pi_tui::input::{Input, Keymap};
use pi_tui::list::{Item, ListEvent, SelectList};
use pi_tui::{Line, Token, View};

use super::super::answer_parts::Part;
use super::super::panel::{Panel, PanelEvent};

/// Rows of the list.
const ROWS: usize = 8;

/// The list of parts. It answers with the text to copy.
pub(crate) struct CopyPanel {
    list: SelectList<String>,
}

impl CopyPanel {
    pub(crate) fn new(parts: Vec<Part>) -> Self {
        let items = parts.into_iter().map(|part| {
            let label = part.label;
            Item { value: part.text, label, description: Some(part.preview) }
        });
        Self { list: SelectList::new(items.collect(), ROWS) }
    }
}

impl Panel<String> for CopyPanel {
    fn render(&mut self, view: View<'_>) -> Vec<Line> {
        let rule = Line::styled("─".repeat(view.width), view.theme.fg(Token::Border));
        let mut lines = vec![rule.clone()];
        lines.push(Line::styled(" Copy", view.theme.fg(Token::Accent).bold()));
        lines.extend(self.list.lines(view));
        lines.push(rule);
        lines
    }

    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<String> {
        let Input::Key(key) = input else { return PanelEvent::Ignored };
        match self.list.handle(key, keymap) {
            ListEvent::Confirmed => {
                PanelEvent::Close(self.list.selected().map(|item| item.value.clone()))
            }
            ListEvent::Cancelled => PanelEvent::Close(None),
            ListEvent::Moved => PanelEvent::Changed,
            _ => PanelEvent::Ignored,
        }
    }
}
