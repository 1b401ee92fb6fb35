//! Shows what `/undo` or `/redo` would change, and asks whether to do it.

use pi_base::text::line;
use pi_host::undo::{Direction, Preview};
use pi_tui::input::{Input, Key, Keymap};
use pi_tui::{Line, Style, Token, View, text};

use super::super::panel::{Panel, PanelEvent};

/// A look at the changes, with a question. It answers with a preview that is to be applied.
pub(crate) struct UndoPanel {
    preview: Preview,
    keys: String,
    /// The first row of the diff that is shown.
    top: usize,
    /// Rows of the diff at the last frame: all of them, and those that were shown.
    rows: usize,
    page: usize,
}

impl UndoPanel {
    pub(crate) fn new(preview: Preview, keymap: &Keymap) -> Self {
        let (confirm, cancel) =
            (keymap.label("tui.select.confirm"), keymap.label("tui.select.cancel"));
        let keys = format!("{confirm} changes the files · {cancel} leaves them · ↑↓ scroll");
        Self { preview, keys, top: 0, rows: 0, page: 1 }
    }

    fn body(&self, view: View<'_>) -> Vec<Line> {
        let diff = self.preview.diff.lines();
        diff.flat_map(|row| text::wrap(&Line::styled(row, style(row, view)), view.width.max(1)))
            .collect()
    }

    fn scroll(&mut self, key: &Key, keymap: &Keymap) -> bool {
        let page = self.page.max(1);
        let top = match () {
            () if keymap.is(key, "tui.select.up") => self.top.saturating_sub(1),
            () if keymap.is(key, "tui.select.down") => self.top + 1,
            () if keymap.is(key, "tui.select.pageUp") => self.top.saturating_sub(page),
            () if keymap.is(key, "tui.select.pageDown") => self.top + page,
            () => return false,
        };
        self.top = top.min(self.rows.saturating_sub(page));
        true
    }
}

fn style(row: &str, view: View<'_>) -> Style {
    let theme = view.theme;
    match row.chars().next() {
        Some('+') => theme.fg(Token::ToolDiffAdded),
        Some('-') => theme.fg(Token::ToolDiffRemoved),
        Some('@') => theme.fg(Token::Dim),
        Some(' ') | None => theme.fg(Token::ToolDiffContext),
        Some(_) => theme.fg(Token::Accent).bold(),
    }
}

impl Panel<Preview> for UndoPanel {
    fn render(&mut self, view: View<'_>) -> Vec<Line> {
        let rule = Line::styled("─".repeat(view.width), view.theme.fg(Token::Border));
        let verb = match self.preview.direction {
            Direction::Undo => "Undo",
            Direction::Redo => "Redo",
        };
        let title = format!(" {verb}: {}", line(&self.preview.label, 60));
        let title = Line::styled(title, view.theme.fg(Token::Accent).bold());
        let body = self.body(view);
        self.rows = body.len();
        self.page = (view.rows / 2).max(3).min(body.len().max(1));
        self.top = self.top.min(self.rows.saturating_sub(self.page));
        let mut lines = vec![rule.clone(), text::truncate(&title, view.width, "…")];
        lines.extend(body.into_iter().skip(self.top).take(self.page));
        if self.rows > self.page {
            let shown = format!("  ({}/{})", self.top + self.page, self.rows);
            lines.push(Line::styled(shown, view.theme.fg(Token::Muted)));
        }
        let keys = Line::styled(format!(" {}", self.keys), view.theme.fg(Token::Dim));
        lines.push(text::truncate(&keys, view.width, "…"));
        lines.push(rule);
        lines.into_iter().map(|line| text::truncate(&line, view.width, "")).collect()
    }

    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<Preview> {
        let Input::Key(key) = input else { return PanelEvent::Ignored };
        if keymap.is(key, "tui.select.cancel") {
            return PanelEvent::Close(None);
        }
        if keymap.is(key, "tui.select.confirm") {
            return PanelEvent::Close(Some(self.preview.clone()));
        }
        match self.scroll(key, keymap) {
            true => PanelEvent::Changed,
            false => PanelEvent::Ignored,
        }
    }
}
