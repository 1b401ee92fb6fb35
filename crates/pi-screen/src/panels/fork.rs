//! The messages of the user, to fork from one of them.

use pi_coding_agent::session::UserMessageInfo;
use pi_tui::input::{Input, Keymap};
use pi_tui::list::{ListEvent, Selection};
use pi_tui::text::rule;
use pi_tui::{Line, Style, Token, View, text};

use super::super::panel::{Panel, PanelEvent};
use super::frame;

/// Messages that are visible at most.
const MOST_ROWS: usize = 10;

/// Lines of a message: its text, its number, an empty line.
const LINES: usize = 3;

/// The panel; it answers with the entry of a message.
pub(crate) struct ForkPanel {
    messages: Vec<UserMessageInfo>,
    selection: Selection,
    hint: String,
}

impl ForkPanel {
    /// Shows messages, oldest first; the newest is selected.
    pub(crate) fn new(messages: Vec<UserMessageInfo>, keymap: &Keymap) -> Self {
        let mut selection = Selection::new(messages.len(), MOST_ROWS);
        selection.select(messages.len());
        let hint = format!(
            "{} copies the session up to this message into a new one · {} cancels",
            keymap.label("tui.select.confirm"),
            keymap.label("tui.select.cancel")
        );
        Self { messages, selection, hint }
    }
}

impl Panel<String> for ForkPanel {
    fn render(&mut self, view: View<'_>) -> Vec<Line> {
        let theme = view.theme;
        let border = rule(view.width, theme.fg(Token::Border));
        let cut = |line: Line| text::truncate(&line, view.width, "…");
        self.selection.set_rows((view.rows / 2 / LINES).clamp(1, MOST_ROWS));
        let mut title = Line::plain(" ");
        title.push("Fork from Message", Style::PLAIN.bold());
        let mut lines = vec![title];
        lines.extend(frame::indented(&self.hint, 1, theme.fg(Token::Dim), view));
        lines.extend([Line::new(), border.clone(), Line::new()]);
        for at in self.selection.visible() {
            let Some(message) = self.messages.get(at) else { continue };
            let is_selected = at == self.selection.index();
            let style = if is_selected { Style::PLAIN.bold() } else { Style::PLAIN };
            let cursor = if is_selected { "› " } else { "  " };
            let mut line = Line::styled(cursor, theme.fg(Token::Accent));
            line.push(message.text.split_whitespace().collect::<Vec<_>>().join(" "), style);
            let number = format!("  Message {} of {}", at + 1, self.messages.len());
            lines.extend([cut(line), Line::styled(number, theme.fg(Token::Dim)), Line::new()]);
        }
        lines.extend(self.selection.position(theme));
        lines.push(border);
        lines
    }

    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<String> {
        let Input::Key(key) = input else { return PanelEvent::Ignored };
        match self.selection.handle(key, keymap) {
            ListEvent::Confirmed => {
                let message = self.messages.get(self.selection.index());
                PanelEvent::Close(message.map(|message| message.entry_id.clone()))
            }
            ListEvent::Cancelled => PanelEvent::Close(None),
            ListEvent::Ignored => PanelEvent::Ignored,
            _ => PanelEvent::Changed,
        }
    }
}
