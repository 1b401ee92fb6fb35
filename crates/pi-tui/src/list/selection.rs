//! The selected row of a list, and the rows around it that are visible.

use std::ops::Range;

use super::ListEvent;
use crate::input::{Key, KeyKind, Keymap};
use crate::text::Line;
use crate::theme::{Theme, Token};

/// Returns the rows that are visible when at most `rows` of `len` fit: the selected one is in the
/// middle, except near the ends.
pub fn window(len: usize, selected: usize, rows: usize) -> Range<usize> {
    let start = selected.saturating_sub(rows / 2).min(len.saturating_sub(rows));
    start..(start + rows).min(len)
}

/// The selected row of a list.
#[derive(Debug, Clone)]
pub struct Selection {
    index: usize,
    len: usize,
    rows: usize,
    stops_at_ends: bool,
    has_letter_keys: bool,
}

impl Selection {
    /// Creates a selection of the first of `len` rows, of which at most `rows` are visible.
    pub fn new(len: usize, rows: usize) -> Self {
        Self { index: 0, len, rows: rows.max(1), stops_at_ends: false, has_letter_keys: false }
    }

    /// Returns the selection with arrows that stop at the first and the last row, instead of going
    /// on at the other end.
    #[must_use]
    pub fn stopping_at_ends(self) -> Self {
        Self { stops_at_ends: true, ..self }
    }

    /// Returns the selection with `j` and `k` as arrows, for lists without a search.
    #[must_use]
    pub fn with_letter_keys(self) -> Self {
        Self { has_letter_keys: true, ..self }
    }

    /// Returns the selected row. In an empty list it is 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Selects a row, or the last one if there are fewer.
    pub fn select(&mut self, index: usize) {
        self.index = index.min(self.len.saturating_sub(1));
    }

    /// Changes the number of rows; the selected one stays as far as it exists.
    pub fn set_len(&mut self, len: usize) {
        self.len = len;
        self.select(self.index);
    }

    /// Changes how many rows are visible.
    pub fn set_rows(&mut self, rows: usize) {
        self.rows = rows.max(1);
    }

    /// Returns the visible rows.
    pub fn visible(&self) -> Range<usize> {
        window(self.len, self.index, self.rows)
    }

    /// Returns the line `(n/m)`, if there are more rows than are visible.
    pub fn position(&self, theme: &Theme) -> Option<Line> {
        if self.len <= self.rows {
            return None;
        }
        let text = format!("  ({}/{})", self.index + 1, self.len);
        Some(Line::styled(text, theme.fg(Token::Muted)))
    }

    /// Moves the selection by a key, or reports what the key means (`tui.select.*`).
    pub fn handle(&mut self, key: &Key, keymap: &Keymap) -> ListEvent {
        if key.kind == KeyKind::Release {
            return ListEvent::Ignored;
        }
        let is_letter = |letter| self.has_letter_keys && key.text.as_deref() == Some(letter);
        let last = self.len.saturating_sub(1);
        let target = if keymap.is(key, "tui.select.up") || is_letter("k") {
            match self.index.checked_sub(1) {
                Some(above) => above,
                None if self.stops_at_ends => 0,
                None => last,
            }
        } else if keymap.is(key, "tui.select.down") || is_letter("j") {
            match self.index + 1 {
                below if below < self.len => below,
                _ if self.stops_at_ends => last,
                _ => 0,
            }
        } else if keymap.is(key, "tui.select.pageUp") {
            self.index.saturating_sub(self.rows)
        } else if keymap.is(key, "tui.select.pageDown") {
            (self.index + self.rows).min(last)
        } else if keymap.is(key, "tui.select.confirm") && self.len > 0 {
            return ListEvent::Confirmed;
        } else if keymap.is(key, "tui.select.cancel") {
            return ListEvent::Cancelled;
        } else {
            return ListEvent::Ignored;
        };
        self.index = target;
        ListEvent::Moved
    }
}
