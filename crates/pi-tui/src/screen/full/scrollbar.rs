//! The scroll bar in the last column.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::super::{Row, over_line};
use super::viewport::Viewport;
use crate::text::{Line, Span};
use crate::theme::{Theme, Token};

/// The time for which the scroll bar stays after scrolling.
const SHOWN: Duration = Duration::from_secs(1);

/// The smallest thumb.
const MIN_THUMB: usize = 2;

/// When the scroll bar is visible.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scrollbar {
    /// After scrolling, and while the mouse is over it.
    #[default]
    Auto,
    /// Always, in a column of its own.
    Always,
    /// Never.
    Hidden,
}

#[derive(Debug, Default)]
pub(super) struct ScrollbarState {
    pub(super) setting: Scrollbar,
    /// The mouse is over the scroll bar, or drags it.
    pub(super) is_hovered: bool,
    /// Distance of the mouse from the top of the thumb that it drags.
    pub(super) dragged: Option<usize>,
    until: Option<Instant>,
    is_visible: bool,
    last_row: usize,
    /// Rows of the thumb; `None` if everything is visible.
    thumb: Option<Range<usize>>,
    height: usize,
    total: usize,
}

impl ScrollbarState {
    /// Returns the columns that the scroll bar takes from the document.
    pub(super) fn reserved(&self) -> usize {
        usize::from(self.setting == Scrollbar::Always)
    }

    /// Returns the time at which the scroll bar disappears.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.until.filter(|_| self.setting == Scrollbar::Auto && self.is_visible)
    }

    /// Computes the thumb for the visible part.
    pub(super) fn update(&mut self, view: &Viewport, total: usize, height: usize, now: Instant) {
        let top = view.top_row();
        (self.height, self.total) = (height, total);
        self.thumb = (total > height && height > MIN_THUMB).then(|| {
            let size = (height * height / total).clamp(MIN_THUMB, height);
            let free = height - size;
            let start = (top * free / (total - height)).min(free);
            start..start + size
        });
        // A view that follows the end moves without the user.
        if top != self.last_row && !view.is_following() || self.dragged.is_some() {
            self.until = Some(now + SHOWN);
        }
        self.last_row = top;
        let is_recent = self.until.is_some_and(|until| now < until);
        if !is_recent {
            self.until = None;
        }
        self.is_visible = self.thumb.is_some()
            && match self.setting {
                Scrollbar::Auto => is_recent || self.is_hovered,
                Scrollbar::Always => true,
                Scrollbar::Hidden => false,
            };
    }

    /// Returns true if the mouse can use the scroll bar.
    pub(super) fn is_active(&self) -> bool {
        self.thumb.is_some() && self.setting != Scrollbar::Hidden
    }

    /// Begins to drag the thumb; a press beside it moves it there first. Returns the row of the
    /// document to show.
    pub(super) fn press(&mut self, row: usize) -> Option<usize> {
        let thumb = self.thumb.clone()?;
        let grip = if thumb.contains(&row) { row - thumb.start } else { thumb.len() / 2 };
        self.dragged = Some(grip);
        self.drag(row)
    }

    /// Returns the row of the document to show while the thumb is dragged.
    pub(super) fn drag(&self, row: usize) -> Option<usize> {
        let thumb = self.thumb.as_ref()?;
        let free = self.height.saturating_sub(thumb.len());
        let start = row.saturating_sub(self.dragged?).min(free);
        Some(start * self.total.saturating_sub(self.height) / free.max(1))
    }

    pub(super) fn draw(&self, rows: &mut [Row], columns: usize, theme: &Theme) {
        let Some(thumb) = self.thumb.as_ref().filter(|_| self.is_visible) else { return };
        for (index, row) in rows.iter_mut().enumerate() {
            let (symbol, token) = match (thumb.contains(&index), self.is_hovered) {
                (true, true) => ("█", Token::ScrollbarThumb),
                (true, false) => ("┃", Token::ScrollbarThumb),
                (false, _) => ("│", Token::ScrollbarTrack),
            };
            let column = columns - 1;
            let below = super::super::cells::cells(row.line(), columns);
            let bg = below.last().filter(|cell| cell.end() == columns).map(|cell| cell.style.bg);
            let style = theme.fg(token).on(bg.unwrap_or_default());
            let bar = Line::from_spans([Span::layout(symbol, style)]);
            *row = Row::own(over_line(row.line(), &bar, column, 1));
        }
    }
}
