//! Shows which file changes a move back or forth would make, and asks what moves: the files, the
//! conversation, or both.

use pi_base::text::line;
use pi_host::undo::{Direction, Preview, RewindScope};
use pi_tui::input::{Input, Key, Keymap};
use pi_tui::list::{Item, ListEvent, SelectList};
use pi_tui::{Line, Style, Token, View, text};

use super::super::panel::{Panel, PanelEvent};

/// The rows around the diff: two rules, the title, the position, the answers and the keys.
const FRAME: usize = 8;
/// Rows of the screen that are not for the panel: the footer and the last row of the transcript.
const OTHER_ROWS: usize = 3;
/// A screen with fewer rows is small: there are no rules and no line for the keys.
const SMALL: usize = 16;

/// A look at the changes, with a question. It answers with what moves.
pub(crate) struct UndoPanel {
    title: String,
    diff: String,
    answers: SelectList<RewindScope>,
    keys: String,
    scroll_keys: String,
    /// The first row of the diff that is shown.
    top: usize,
    /// Rows of the diff at the last frame: all of them, and those that were shown.
    rows: usize,
    page: usize,
}

impl UndoPanel {
    /// Creates a panel for `/undo` and `/redo`. The conversation can move if its place is known.
    pub(crate) fn undo(preview: &Preview, has_entry: bool, keymap: &Keymap) -> Self {
        let (verb, files) = match preview.direction {
            Direction::Undo => ("Undo", "Take back these file changes"),
            Direction::Redo => ("Redo", "Repeat these file changes"),
        };
        let mut answers = vec![Item::new(RewindScope::Files, files)];
        if has_entry && preview.direction == Direction::Undo {
            answers.push(Item::new(RewindScope::Both, "Take back files and conversation"));
            answers.push(Item::new(RewindScope::Conversation, "Take back the conversation only"));
        }
        Self::new(format!("{verb}: {}", line(&preview.label, 60)), preview, answers, keymap)
    }

    /// Creates a panel for a move in the session tree that leaves runs with file changes.
    pub(crate) fn leave(preview: &Preview, keymap: &Keymap) -> Self {
        let answers = vec![
            Item::new(RewindScope::Conversation, "Move the conversation, keep the files"),
            Item::new(RewindScope::Both, "Move the conversation and take back these changes"),
            Item::new(RewindScope::Files, "Take back these changes, keep the conversation"),
        ];
        let title = "The messages that you leave changed files".to_owned();
        Self::new(title, preview, answers, keymap)
    }

    fn new(
        title: String,
        preview: &Preview,
        answers: Vec<Item<RewindScope>>,
        keymap: &Keymap,
    ) -> Self {
        let label = |action| keymap.label(action);
        let scroll_keys =
            format!("{}/{}", label("tui.select.pageUp"), label("tui.select.pageDown"));
        let keys = format!(
            "{} confirms · {} cancels · {scroll_keys} scroll",
            label("tui.select.confirm"),
            label("tui.select.cancel"),
        );
        let answers = SelectList::new(answers, 3).with_columns(12, 60).with_letter_keys();
        let diff = preview.diff.clone();
        Self { title, diff, answers, keys, scroll_keys, top: 0, rows: 0, page: 1 }
    }

    fn body(&self, view: View<'_>) -> Vec<Line> {
        let width = view.width.saturating_sub(1).max(1);
        let rows = self.diff.lines().flat_map(|row| {
            let wrapped = text::wrap(&Line::styled(row, style(row, view)), width);
            wrapped.into_iter().map(|line| line.indented(1, Style::PLAIN)).collect::<Vec<_>>()
        });
        rows.collect()
    }

    fn scroll(&mut self, key: &Key, keymap: &Keymap) -> bool {
        let page = self.page.max(1);
        let top = if keymap.is(key, "tui.select.pageUp") {
            self.top.saturating_sub(page)
        } else if keymap.is(key, "tui.select.pageDown") {
            self.top + page
        } else {
            return false;
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

impl Panel<RewindScope> for UndoPanel {
    fn render(&mut self, view: View<'_>) -> Vec<Line> {
        let rule = Line::styled("─".repeat(view.width), view.theme.fg(Token::Border));
        let title = format!(" {}", self.title);
        let title = Line::styled(title, view.theme.fg(Token::Accent).bold());
        let body = self.body(view);
        self.rows = body.len();
        // The answers stay visible in a small window; the diff gives way.
        let is_small = view.rows < SMALL;
        let room = match is_small {
            // The title, the position and the answers.
            true => view.rows.saturating_sub(OTHER_ROWS + 2 + self.answers.len()),
            false => view.rows.saturating_sub(FRAME).min(view.rows / 2),
        };
        let room = room.max(1);
        self.page = room.min(body.len().max(1));
        self.top = self.top.min(self.rows.saturating_sub(self.page));
        let mut lines = if is_small { vec![title] } else { vec![rule.clone(), title] };
        lines.extend(body.into_iter().skip(self.top).take(self.page));
        if self.rows > self.page {
            let shown = match is_small {
                true => format!(" ({}/{}) {}", self.top + self.page, self.rows, self.scroll_keys),
                false => format!(" ({}/{})", self.top + self.page, self.rows),
            };
            lines.push(Line::styled(shown, view.theme.fg(Token::Muted)));
        }
        lines.extend(self.answers.lines(view));
        if !is_small {
            lines.push(Line::styled(format!(" {}", self.keys), view.theme.fg(Token::Dim)));
            lines.push(rule);
        }
        lines.into_iter().map(|line| text::truncate(&line, view.width, "…")).collect()
    }

    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<RewindScope> {
        let Input::Key(key) = input else { return PanelEvent::Ignored };
        if self.scroll(key, keymap) {
            return PanelEvent::Changed;
        }
        match self.answers.handle(key, keymap) {
            ListEvent::Confirmed => match self.answers.selected() {
                Some(item) => PanelEvent::Close(Some(item.value)),
                None => PanelEvent::Ignored,
            },
            ListEvent::Cancelled => PanelEvent::Close(None),
            ListEvent::Moved => PanelEvent::Changed,
            _ => PanelEvent::Ignored,
        }
    }
}
