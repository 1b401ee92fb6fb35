//! A question with a list of answers.
//!
//! Answers that permit something count only when the whole text was shown: before, their key shows the
//! next page of it.

use pi_tui::input::{Input, Key, Keymap};
use pi_tui::list::{Item, ListEvent, SelectList};
use pi_tui::{Line, Token, View, text};

use super::super::panel::{Panel, PanelEvent};
use super::dialog_frame::{Hints, framed, indented, inner};
use super::scroll::Scroll;

/// The most answers that are visible at once.
const ROWS: usize = 10;
/// Rows of the screen that a question leaves to the footer and the line above it.
const OTHER_ROWS: usize = 4;

/// A question with a list of answers.
pub(crate) struct Question<T> {
    title: String,
    /// Text below the title.
    message: String,
    list: SelectList<T>,
    scroll: Scroll,
    scroll_keys: String,
    hints: Hints,
    /// The answer of a user who cancels.
    on_cancel: Option<T>,
    /// Returns true for an answer that permits something.
    permits: fn(&T) -> bool,
    /// All answers, and for each a word that stands for it where there is little room.
    answers: Vec<T>,
    words: Vec<&'static str>,
}

impl<T: Clone> Question<T> {
    /// Creates a question of a command with a few answers, of which one is for a user who cancels.
    pub(crate) fn with_answers(
        title: &str,
        message: &str,
        answers: Vec<(T, &str)>,
        on_cancel: T,
        keymap: &Keymap,
    ) -> Self {
        let items = answers.into_iter().map(|(value, label)| Item::new(value, label)).collect();
        Self { on_cancel: Some(on_cancel), ..Self::new(title, message, items, keymap) }
    }

    pub(super) fn new(title: &str, message: &str, items: Vec<Item<T>>, keymap: &Keymap) -> Self {
        let hints =
            [("↑↓", "navigate"), ("tui.select.confirm", "select"), ("tui.select.cancel", "cancel")];
        let keys = |action| keymap.label(action);
        Self {
            answers: items.iter().map(|item| item.value.clone()).collect(),
            words: Vec::new(),
            permits: |_| false,
            title: title.to_owned(),
            message: message.to_owned(),
            list: SelectList::new(items, ROWS).with_columns(12, 60).with_letter_keys(),
            scroll: Scroll::default(),
            scroll_keys: format!("{}/{}", keys("tui.select.pageUp"), keys("tui.select.pageDown")),
            hints: Hints::new(keymap, &hints),
            on_cancel: None,
        }
    }

    /// Returns the question with answers that count only after the text was read.
    pub(crate) fn permitting(self, permits: fn(&T) -> bool) -> Self {
        Self { permits, ..self }
    }

    /// Returns the question with words for its answers, for screens with few rows.
    pub(super) fn with_words(self, words: Vec<&'static str>) -> Self {
        Self { words, ..self }
    }

    /// Returns the lines. `countdown` is the time that is left, in seconds.
    pub(super) fn lines(&mut self, view: View<'_>, countdown: Option<u64>) -> Vec<Line> {
        let inside = inner(view);
        let mut head = title_lines(&self.title, countdown, inside);
        if !self.message.trim().is_empty() {
            head.extend(paragraphs(&self.message, inside));
        }
        let hints = self.hints.lines(inside);
        let answers = self.list.len().min(ROWS);
        let shown = head.len().min(view.rows / 2);
        // Borders, empty lines and hints.
        if 2 + 4 + hints.len() + answers + shown + OTHER_ROWS / 2 > view.rows {
            return self.small(&head, view);
        }
        self.list.set_rows(ROWS);
        let mut body = vec![Line::new()];
        body.extend(self.scroll.visible(&head, view.rows / 2, &self.scroll_keys, inside));
        body.push(Line::new());
        body.extend(self.list.lines(inside));
        body.push(Line::new());
        body.extend(hints);
        body.push(Line::new());
        framed(&body, view)
    }

    /// Returns the lines for a screen with few rows: the question is never above its top.
    fn small(&mut self, head: &[Line], view: View<'_>) -> Vec<Line> {
        let inside = inner(view);
        let most = view.rows.saturating_sub(OTHER_ROWS).max(4);
        let answers = self.list.len();
        let list = if self.words.len() == self.answers.len() && answers > 0 {
            self.line(inside)
        } else {
            // Lists that do not fit take one more row for the position.
            self.list.set_rows(if answers <= most / 2 { answers } else { (most / 2 - 1).max(1) });
            self.list.lines(inside)
        };
        // Rows without text are the first to go.
        let head: Vec<Line> = head.iter().filter(|line| line.width() > 0).cloned().collect();
        let rows = most.saturating_sub(list.len());
        let mut body = self.scroll.visible(&head, rows, &self.scroll_keys, inside);
        body.extend(list);
        indented(&body, view).collect()
    }

    /// Returns the answers on one line, wrapped where that is too narrow: their numbers and words, the
    /// selected one in brackets.
    fn line(&self, view: View<'_>) -> Vec<Line> {
        let theme = view.theme;
        let selected = self.list.selected_index().unwrap_or_default();
        let mut line = Line::new();
        for (at, word) in self.words.iter().enumerate() {
            if at > 0 {
                line.push(" ", theme.fg(Token::Muted));
            }
            let (open, close, style) = match at == selected {
                true => ("[", "]", theme.fg(Token::Accent)),
                false => ("", "", theme.fg(Token::Text)),
            };
            line.push(open, style);
            line.push((at + 1).to_string(), theme.fg(Token::Accent));
            line.push(format!(":{word}{close}"), style);
        }
        text::wrap(&line, view.width)
    }

    /// Takes an answer. One that permits something is not taken before all was shown.
    fn take(&mut self, answer: Option<T>) -> PanelEvent<T> {
        match answer {
            None => PanelEvent::Ignored,
            Some(answer) if (self.permits)(&answer) && !self.scroll.is_read() => {
                self.scroll.page_down();
                PanelEvent::Changed
            }
            Some(answer) => PanelEvent::Close(Some(answer)),
        }
    }

    /// Returns the answer that a key means by its number. Questions that may appear while the user types
    /// have no numbers.
    fn numbered(&self, key: &Key) -> Option<T> {
        if self.words.is_empty() {
            return None;
        }
        let digit = key.text.as_deref()?.parse::<usize>().ok()?;
        self.answers.get(digit.checked_sub(1)?).cloned()
    }
}

impl<T: Clone> Panel<T> for Question<T> {
    fn render(&mut self, view: View<'_>) -> Vec<Line> {
        self.lines(view, None)
    }

    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<T> {
        let Input::Key(key) = input else { return PanelEvent::Ignored };
        if self.scroll.handle(key, keymap) {
            return PanelEvent::Changed;
        }
        if let Some(answer) = self.numbered(key) {
            return self.take(Some(answer));
        }
        match self.list.handle(key, keymap) {
            ListEvent::Confirmed => {
                let answer = self.list.selected().map(|item| item.value.clone());
                self.take(answer)
            }
            ListEvent::Cancelled => PanelEvent::Close(self.on_cancel.take()),
            ListEvent::Moved => PanelEvent::Changed,
            _ => PanelEvent::Ignored,
        }
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
