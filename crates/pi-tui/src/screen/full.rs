//! The fullscreen mode: the alternate screen, with a viewport over the document.
//!
//! The modes of the terminal (alternate screen, no wrapping at the edge, mouse) belong to
//! [`crate::terminal`]; the caller switches them on before the first frame.
//!
//! The dock is at the bottom and never scrolls. The viewport above it shows the end of the document
//! until the user scrolls back. Only visible blocks are rendered, and only rows that changed are
//! written.

mod decorate;
mod mouse;
mod scrollbar;
mod search;
mod selection;
mod viewport;

use std::io::Write as _;
use std::time::Instant;

use super::encode::Encoder;
use super::images::{self, Images};
use super::{Frame, Row, Size, compose, finish_frame, fit_dock};
use crate::blocks::{BlockId, Blocks};
use crate::component::View;
use crate::terminal::ImageProtocol;
use crate::text::Line;
use crate::theme::{Theme, Token};

use mouse::MouseState;
pub use mouse::{MouseOutcome, WheelLines};
pub use scrollbar::Scrollbar;
use scrollbar::ScrollbarState;
use search::Search;
pub use search::SearchStatus;
use selection::Selection;
pub use viewport::Scroll;
use viewport::Viewport;

/// A screen of its own.
#[derive(Debug)]
pub struct FullScreen {
    size: Size,
    encoder: Encoder,
    /// Rows on the terminal; empty if they are not known.
    rows: Vec<Row>,
    cursor: Option<(usize, usize)>,
    is_cursor_shown: Option<bool>,
    viewport: Viewport,
    scrollbar: ScrollbarState,
    mouse: MouseState,
    selection: Option<Selection>,
    search: Option<Search>,
    /// Row and columns of the label that leads back to the end.
    label: Option<(usize, std::ops::Range<usize>)>,
    images: Images,
}

impl FullScreen {
    /// Creates a screen that follows the end of the document.
    pub fn new(size: Size, encoder: Encoder) -> Self {
        Self {
            size,
            encoder: Encoder { wraps: false, ..encoder },
            rows: Vec::new(),
            cursor: None,
            is_cursor_shown: None,
            viewport: Viewport::default(),
            scrollbar: ScrollbarState::default(),
            mouse: MouseState::default(),
            selection: None,
            search: None,
            label: None,
            images: Images::default(),
        }
    }

    fn forget(&mut self) {
        self.rows.clear();
        self.cursor = None;
        self.is_cursor_shown = None;
    }

    /// Shows images; without a protocol only their lines are shown.
    pub fn set_images(&mut self, protocol: Option<ImageProtocol>) {
        self.images.protocol = protocol;
    }

    /// Changes the size. The next frame writes everything, also if the size is the same again after
    /// a window was dragged: the terminal cut what was on the screen.
    pub fn resize(&mut self, size: Size) {
        self.size = size;
        self.forget();
    }

    /// Returns the size of the terminal.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Returns the surroundings in which the dock is to be rendered.
    pub fn view<'a>(&self, theme: &'a Theme) -> View<'a> {
        View { width: self.size.columns, rows: self.size.rows, theme }
    }

    /// Returns the surroundings of blocks.
    fn block_view<'a>(&self, theme: &'a Theme) -> View<'a> {
        let width = self.size.columns - self.scrollbar.reserved().min(self.size.columns - 1);
        self.view(theme).with_width(width)
    }

    /// Scrolls with the next frame.
    pub fn scroll(&mut self, scroll: Scroll) {
        self.viewport.scroll(scroll);
    }

    /// Moves the view to a block with the next frame.
    pub fn show(&mut self, block: BlockId, line: usize) {
        self.viewport.show(block, line);
    }

    /// Returns true if the view shows the end of the document and moves with it.
    pub fn is_following(&self) -> bool {
        self.viewport.is_following()
    }

    /// Writes everything again with the next frame, because another program used the terminal.
    pub fn redraw(&mut self) {
        self.images.forget();
        self.forget();
    }

    /// Returns the time at which the next frame is due although nothing happened.
    pub fn deadline(&self) -> Option<Instant> {
        let times = [self.scrollbar.deadline(), self.mouse.deadline()];
        times.into_iter().flatten().min()
    }

    /// Appends the bytes that show the visible part of the document and the dock.
    pub fn draw(&mut self, blocks: &mut Blocks, frame: &Frame<'_>, out: &mut Vec<u8>) {
        let columns = self.size.columns;
        let dock = fit_dock(frame.dock, self.size.rows - 1);
        let height = self.size.rows - dock.len();
        let view = self.block_view(frame.theme);
        self.drag_at_edge(blocks, view, frame.now);
        self.viewport.layout(blocks, view, height);
        self.show_match(blocks, view);

        let mut rows: Vec<Row> = self.viewport.rows().cloned().collect();
        self.highlight_matches(&mut rows, frame.theme);
        self.highlight_selection(blocks, &mut rows);
        rows.resize_with(height, || Row::own(Line::new()));
        // An image would cover overlays and the dock.
        images::clip(&mut rows, !frame.overlays.is_empty());
        self.scrollbar.update(&self.viewport, blocks.height(), height, frame.now);
        self.scrollbar.draw(&mut rows, columns, frame.theme);
        self.draw_label(&mut rows, frame);
        rows.extend(dock.iter().map(|line| Row::own(line.clone())));
        compose(&mut rows, frame.overlays, columns);
        self.write(rows, frame.cursor, out);
    }

    /// Puts the label that leads back to the end into the last row of the viewport.
    fn draw_label(&mut self, rows: &mut [Row], frame: &Frame<'_>) {
        self.label = None;
        let width = crate::text::width(frame.label);
        if self.is_following() || width == 0 || width > self.size.columns {
            return;
        }
        let Some(index) = rows.len().checked_sub(1) else { return };
        let style = frame.theme.fg(Token::Text).on(frame.theme.bg(Token::SelectedBg));
        let column = (self.size.columns - width) / 2;
        let label = Line::styled(frame.label, style);
        // Little would be left of the row beside the label, and would not be understood.
        let empty = Line::new();
        let row = if 2 * width > self.size.columns { &empty } else { rows[index].line() };
        let line = super::over_line(row, &label, column, width);
        rows[index] = Row::own(line);
        self.label = Some((index, column..column + width));
    }

    /// Shows images that came or moved, and removes those that are gone.
    fn show_images(&mut self, rows: &[Row], out: &mut Vec<u8>) {
        self.images.hide(self.rows.iter(), rows.iter(), out);
        for (index, row) in rows.iter().enumerate() {
            let Some(image) = images::image_of(row) else { continue };
            if images::is_new(self.rows.get(index), row) && self.images.protocol.is_some() {
                let column = row.line().width().min(self.size.columns - 1);
                let _ = write!(out, "\x1b[{};{}H", index + 1, column + 1);
                self.images.show(image, out);
            }
        }
    }

    /// Writes the rows that differ, and puts the cursor on the caret.
    fn write(&mut self, rows: Vec<Row>, show_cursor: bool, out: &mut Vec<u8>) {
        let columns = self.size.columns;
        let mut body = Vec::new();
        if self.rows.len() != rows.len() {
            body.extend_from_slice(b"\x1b[2J");
            self.rows = vec![Row::own(Line::new()); rows.len()];
        }
        for (index, (old, new)) in self.rows.iter().zip(&rows).enumerate() {
            if old.is_same(new) {
                continue;
            }
            if let Some(change) = self.encoder.change(old.line(), new.line(), columns) {
                let _ = write!(body, "\x1b[{};{}H", index + 1, change.column + 1);
                self.encoder.write_change(&change, columns, &mut body);
            }
        }
        self.show_images(&rows, &mut body);
        self.rows = rows;
        let is_change = !body.is_empty();
        let caret = self.rows.iter().enumerate().rev().find_map(|(index, row)| {
            row.line().caret.map(|column| (index, column.min(columns - 1)))
        });
        let caret = caret.unwrap_or((self.rows.len().saturating_sub(1), 0));
        if is_change || self.cursor != Some(caret) {
            let _ = write!(body, "\x1b[{};{}H", caret.0 + 1, caret.1 + 1);
            self.cursor = Some(caret);
        }
        if self.is_cursor_shown.replace(show_cursor) != Some(show_cursor) {
            body.extend_from_slice(if show_cursor { b"\x1b[?25h" } else { b"\x1b[?25l" });
        }
        finish_frame(&body, is_change, out);
    }
}
