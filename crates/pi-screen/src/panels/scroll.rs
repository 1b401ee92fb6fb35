//! A text that scrolls within a part of the screen.

use pi_tui::input::{Key, Keymap};
use pi_tui::{Line, Token, View};

/// The position in a text.
#[derive(Debug, Clone, Default)]
pub(super) struct Scroll {
    first: usize,
    /// Rows and lines at the last frame, for the keys.
    rows: usize,
    count: usize,
    /// Lines from the first one on that were shown without a gap, as long as they are the same lines.
    seen: usize,
    width: usize,
    /// Every line was shown.
    is_read: bool,
}

impl Scroll {
    /// Returns the lines that are shown in at most `rows` rows. If there are more, the last row says
    /// so.
    pub(super) fn visible(
        &mut self,
        lines: &[Line],
        rows: usize,
        keys: &str,
        view: View<'_>,
    ) -> Vec<Line> {
        let rows = rows.max(2);
        let is_other = (self.width, self.count) != (view.width, lines.len());
        (self.width, self.count) = (view.width, lines.len());
        if is_other {
            self.seen = 0;
        }
        if lines.len() <= rows {
            (self.first, self.rows, self.is_read) = (0, rows, true);
            return lines.to_vec();
        }
        self.rows = rows - 1;
        self.first = self.first.min(self.last());
        let end = self.first + self.rows;
        let below = self.count - end;
        if self.first <= self.seen {
            self.seen = self.seen.max(end);
        }
        self.is_read |= self.seen >= self.count;
        let mut shown: Vec<Line> = lines.iter().skip(self.first).take(self.rows).cloned().collect();
        let position = format!("lines {}-{end} of {}", self.first + 1, self.count);
        let more = match below {
            0 => format!("{position} · {keys} to scroll"),
            _ => format!("↓ {below} more · {position} · {keys} to scroll"),
        };
        let more = match below {
            _ if Line::plain(more.as_str()).width() <= view.width => more,
            0 => format!("↑ {keys}"),
            _ => format!("↓ {below} more · {keys}"),
        };
        let token = if below > 0 { Token::Warning } else { Token::Muted };
        shown.push(Line::styled(more, view.theme.fg(token)));
        shown
    }

    /// Returns true if every line was shown.
    pub(super) fn is_read(&self) -> bool {
        self.is_read
    }

    /// Shows the next page.
    pub(super) fn page_down(&mut self) {
        self.first = (self.first + self.page()).min(self.last());
    }

    /// Returns the rows of a page. Of a few rows, none is shown twice.
    fn page(&self) -> usize {
        if self.rows > 5 { self.rows - 1 } else { self.rows.max(1) }
    }

    /// Scrolls by a key. Returns false if the key does not scroll or everything is visible.
    pub(super) fn handle(&mut self, key: &Key, keymap: &Keymap) -> bool {
        if self.count <= self.rows {
            return false;
        }
        if keymap.is(key, "tui.select.pageDown") {
            self.page_down();
        } else if keymap.is(key, "tui.select.pageUp") {
            self.first = self.first.saturating_sub(self.page());
        } else {
            return false;
        }
        true
    }

    /// Returns the first line if the last one is visible.
    fn last(&self) -> usize {
        self.count.saturating_sub(self.rows)
    }
}
