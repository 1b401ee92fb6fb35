//! A question with a list of answers.

use pi_tui::input::{Input, Keymap};
use pi_tui::list::{Item, ListEvent, SelectList};
use pi_tui::{Line, Token, View, text};

use super::dialog_frame::{Hints, framed, inner};
use super::scroll::Scroll;

/// The most answers that are visible at once.
const ROWS: usize = 10;

/// A question with a list of answers.
pub(super) struct Question<T> {
    title: String,
    /// Text below the title.
    message: String,
    list: SelectList<T>,
    scroll: Scroll,
    scroll_keys: String,
    hints: Hints,
}

/// Meaning of a key for a question.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer<T> {
    Ignored,
    Changed,
    Chosen(T),
    Cancelled,
}

impl<T> Answer<T> {
    /// Returns the answer with another value.
    pub(super) fn map<U>(self, change: impl FnOnce(T) -> U) -> Answer<U> {
        match self {
            Self::Ignored => Answer::Ignored,
            Self::Changed => Answer::Changed,
            Self::Chosen(value) => Answer::Chosen(change(value)),
            Self::Cancelled => Answer::Cancelled,
        }
    }
}

impl<T: Clone> Question<T> {
    pub(super) fn new(title: &str, message: &str, items: Vec<Item<T>>, keymap: &Keymap) -> Self {
        let hints =
            [("↑↓", "navigate"), ("tui.select.confirm", "select"), ("tui.select.cancel", "cancel")];
        let keys = |action| keymap.label(action);
        Self {
            title: title.to_owned(),
            message: message.to_owned(),
            list: SelectList::new(items, ROWS).with_columns(12, 60).with_letter_keys(),
            scroll: Scroll::default(),
            scroll_keys: format!("{}/{}", keys("tui.select.pageUp"), keys("tui.select.pageDown")),
            hints: Hints::new(keymap, &hints),
        }
    }

    pub(super) fn handle(&mut self, input: &Input, keymap: &Keymap) -> Answer<T> {
        let Input::Key(key) = input else { return Answer::Ignored };
        if self.scroll.handle(key, keymap) {
            return Answer::Changed;
        }
        match self.list.handle(key, keymap) {
            ListEvent::Confirmed => match self.list.selected() {
                Some(item) => Answer::Chosen(item.value.clone()),
                None => Answer::Ignored,
            },
            ListEvent::Cancelled => Answer::Cancelled,
            ListEvent::Moved => Answer::Changed,
            _ => Answer::Ignored,
        }
    }

    /// Returns the lines. `countdown` is the time that is left, in seconds.
    pub(super) fn lines(&mut self, view: View<'_>, countdown: Option<u64>) -> Vec<Line> {
        let inside = inner(view);
        let mut head = title_lines(&self.title, countdown, inside);
        if !self.message.trim().is_empty() {
            head.extend(paragraphs(&self.message, inside));
        }
        let mut body = vec![Line::new()];
        body.extend(self.scroll.visible(&head, view.rows / 2, &self.scroll_keys, inside));
        body.push(Line::new());
        body.extend(self.list.lines(inside));
        body.push(Line::new());
        body.extend(self.hints.lines(inside));
        body.push(Line::new());
        framed(&body, view)
    }
}

/// Returns the lines of a title: the first line stands out, and shows the time that is left.
pub(super) fn title_lines(title: &str, countdown: Option<u64>, view: View<'_>) -> Vec<Line> {
    let accent = view.theme.fg(Token::Accent).bold();
    let mut texts = title.trim_end().split('\n');
    let mut first = Line::styled(texts.next().unwrap_or_default().trim_end(), accent);
    if let Some(seconds) = countdown {
        first.push(format!(" ({seconds}s)"), view.theme.fg(Token::Muted));
    }
    let mut lines = text::wrap(&first, view.width);
    for rest in texts {
        lines.extend(text::wrap(&Line::styled(rest, view.theme.fg(Token::Accent)), view.width));
    }
    lines
}

/// Returns a text of several lines, wrapped.
fn paragraphs(source: &str, view: View<'_>) -> Vec<Line> {
    let lines = source.trim_end().split('\n');
    lines.flat_map(|line| text::wrap(&Line::plain(line), view.width)).collect()
}
