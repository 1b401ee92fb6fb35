//! The regular screen: the main screen of the terminal, with its own scrollback.
//!
//! The document is the lines of the blocks, followed by the dock. The terminal shows its end. Lines
//! leave the screen only by a line feed at the bottom row, so that every terminal keeps them, and
//! lines that left are final: a later change of them is not written. A frame costs what is visible.

mod position;
mod reflow;

use std::collections::VecDeque;
use std::io::Write as _;

use super::encode::Encoder;
use super::images::{self, Images};
use super::{Frame, Row, Size, compose, finish_frame, fit_dock};
use crate::blocks::{BlockId, Blocks};
use crate::component::View;
use crate::terminal::ImageProtocol;
use crate::text::Line;
use position::Position;
use reflow::Emitted;

/// Screens of the document that are written at the start.
const START_SCREENS: usize = 3;

/// Lines above the screen whose shape is remembered: as many as can come back when the terminal
/// grows.
const HISTORY: usize = 500;

/// Erases from the first column of a row to the end of the screen, and stays there. The erasing begins
/// in the second column: in the upper left corner, tmux would move what is erased into the scrollback,
/// where it would stand twice.
const ERASE_BELOW: &[u8] = b"\x1b[2K \x1b[J\r";

/// A row on the terminal, and the line of the document in it. Rows of the dock have none.
#[derive(Debug, Clone)]
struct Shown {
    row: Row,
    source: Option<(BlockId, usize)>,
}

/// Place of the terminal's cursor, in rows of the screen's own part of the terminal.
#[derive(Debug, Clone, Copy, Default)]
struct Cursor {
    row: usize,
    /// `None` after the last column was written: there terminals differ.
    column: Option<usize>,
}

/// A screen that writes below what is in the terminal.
#[derive(Debug)]
pub struct RegularScreen {
    size: Size,
    encoder: Encoder,
    reflows: bool,
    is_started: bool,
    /// The first line of the document that is not final.
    position: Position,
    rows: Vec<Shown>,
    cursor: Cursor,
    is_cursor_shown: Option<bool>,
    history: VecDeque<Emitted>,
    /// Questions for the cursor that are not answered.
    questions: usize,
    /// Bytes that lead to the first row after a resize.
    prelude: Vec<u8>,
    images: Images,
}

impl RegularScreen {
    /// Creates a screen that starts at the terminal's cursor.
    pub fn new(size: Size, encoder: Encoder) -> Self {
        Self {
            size,
            encoder: Encoder { wraps: true, ..encoder },
            reflows: true,
            is_started: false,
            position: Position::default(),
            rows: Vec::new(),
            cursor: Cursor::default(),
            is_cursor_shown: None,
            history: VecDeque::new(),
            questions: 0,
            prelude: Vec::new(),
            images: Images::default(),
        }
    }

    /// Tells the screen that the terminal cuts lines when it becomes narrower, instead of wrapping
    /// them (xterm, GNU screen, the Linux console).
    pub fn set_reflows(&mut self, reflows: bool) {
        self.reflows = reflows;
    }

    /// Shows images; without a protocol only their lines are shown.
    pub fn set_images(&mut self, protocol: Option<ImageProtocol>) {
        self.images.protocol = protocol;
    }

    /// Returns the size of the terminal.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Returns the surroundings in which the dock is to be rendered.
    pub fn view<'a>(&self, theme: &'a crate::Theme) -> View<'a> {
        View { width: self.size.columns, rows: self.size.rows, theme }
    }

    /// Starts with the last blocks that fill `rows` rows; blocks before them are never written.
    /// Returns the first block that will be written, if there are blocks before it.
    pub fn start_at_end(
        &mut self,
        blocks: &mut Blocks,
        view: View<'_>,
        rows: usize,
    ) -> Option<BlockId> {
        self.is_started = true;
        self.position = Position::default();
        let mut height = 0;
        let mut next = blocks.last();
        while let Some(id) = next {
            height += blocks.lines(id, view).len();
            next = blocks.previous(id);
            if height >= rows {
                self.position = next.map_or_else(Position::default, Position::after);
                return next.map(|_| id);
            }
        }
        None
    }

    /// Appends the bytes that show the document and the dock. Writes nothing while the answer to a
    /// question for the cursor is awaited.
    pub fn draw(&mut self, blocks: &mut Blocks, frame: &Frame<'_>, out: &mut Vec<u8>) {
        if self.awaits_cursor() {
            return;
        }
        let view = self.view(frame.theme);
        self.find_position(blocks, view);
        let mut wanted = self.document(blocks, view);
        for line in fit_dock(frame.dock, self.size.rows) {
            wanted.push(Shown { row: Row::own(line.clone()), source: None });
        }
        if !frame.overlays.is_empty() {
            while wanted.len() < self.size.rows {
                wanted.push(Shown { row: Row::own(Line::new()), source: None });
            }
        }
        let leaving = wanted.len().saturating_sub(self.size.rows);
        self.commit(&wanted[..leaving]);
        if !frame.overlays.is_empty() {
            let mut rows: Vec<Row> = wanted[leaving..].iter().map(|row| row.row.clone()).collect();
            images::clip(&mut rows, true);
            compose(&mut rows, frame.overlays, self.size.columns);
            for (shown, row) in wanted[leaving..].iter_mut().zip(rows) {
                shown.row = row;
            }
        }
        let mut body = std::mem::take(&mut self.prelude);
        self.paint(&wanted, &mut body);
        self.rows = wanted.split_off(leaving);
        self.cursor.row = self.cursor.row.saturating_sub(leaving);
        self.write_frame(body, frame.cursor, out);
    }

    /// Writes the rows that differ, and new rows below them.
    fn paint(&mut self, wanted: &[Shown], out: &mut Vec<u8>) {
        let rows = wanted.iter().map(|shown| &shown.row);
        self.images.hide(self.rows.iter().map(|shown| &shown.row), rows.clone(), out);
        // Rows of images that wait for their last row.
        let mut images: Vec<(usize, usize)> = Vec::new();
        for (index, row) in rows.enumerate() {
            let old = self.rows.get(index).map(|old| old.row.clone());
            if self.images.protocol.is_some() && images::is_new(old.as_ref(), row) {
                let height = images::image_of(row).map_or(1, |image| image.rows.max(1));
                images.push((index, index + height - 1));
            }
            self.paint_row(index, old.as_ref(), row, out);
            while let Some((first, _)) = images.pop_if(|(_, last)| *last <= index) {
                self.show_image(first, &wanted[first].row, out);
            }
        }
        if wanted.len() < self.rows.len() {
            self.move_to(wanted.len(), 0, out);
            out.extend_from_slice(ERASE_BELOW);
        }
    }

    fn paint_row(&mut self, index: usize, old: Option<&Row>, new: &Row, out: &mut Vec<u8>) {
        let columns = self.size.columns;
        let end = match old {
            Some(old) if old.is_same(new) => return,
            Some(old) => {
                let change = self.encoder.change(old.line(), new.line(), columns);
                let Some(change) = change else { return };
                self.move_to(index, change.column, out);
                self.encoder.write_change(&change, columns, out);
                change.end
            }
            None => {
                if index > 0 {
                    self.move_to_row(index - 1, out);
                    out.extend_from_slice(b"\r\n");
                } else {
                    out.push(b'\r');
                }
                self.encoder.line(new.line(), columns, out)
            }
        };
        self.cursor = Cursor { row: index, column: Some(end).filter(|end| *end < columns) };
    }

    /// Shows an image when all its rows are on the screen: before, it would have no place below, and
    /// later its first row may be gone.
    fn show_image(&mut self, index: usize, row: &Row, out: &mut Vec<u8>) {
        let Some(image) = images::image_of(row) else { return };
        if image.rows <= self.size.rows {
            self.move_to(index, row.line().width().min(self.size.columns - 1), out);
            self.images.show(image, out);
        }
    }

    /// Wraps a frame and puts the cursor on the caret.
    fn write_frame(&mut self, mut body: Vec<u8>, show_cursor: bool, out: &mut Vec<u8>) {
        let is_change = !body.is_empty();
        let caret = self.rows.iter().enumerate().rev().find_map(|(index, shown)| {
            shown.row.line().caret.map(|column| (index, column.min(self.size.columns - 1)))
        });
        let (row, column) = caret.unwrap_or((self.rows.len().saturating_sub(1), 0));
        self.move_to(row, column, &mut body);
        if self.is_cursor_shown.replace(show_cursor) != Some(show_cursor) {
            body.extend_from_slice(if show_cursor { b"\x1b[?25h" } else { b"\x1b[?25l" });
        }
        finish_frame(&body, is_change, out);
    }

    fn move_to(&mut self, row: usize, column: usize, out: &mut Vec<u8>) {
        self.move_to_row(row, out);
        if self.cursor.column != Some(column) {
            if column == 0 {
                out.push(b'\r');
            } else {
                let _ = write!(out, "\x1b[{}G", column + 1);
            }
            self.cursor.column = Some(column);
        }
    }

    fn move_to_row(&mut self, row: usize, out: &mut Vec<u8>) {
        let (distance, direction) = match row.checked_sub(self.cursor.row) {
            Some(down) => (down, 'B'),
            None => (self.cursor.row - row, 'A'),
        };
        let _ = match distance {
            0 => Ok(()),
            1 => write!(out, "\x1b[{direction}"),
            _ => write!(out, "\x1b[{distance}{direction}"),
        };
        self.cursor.row = row;
    }

    /// Moves below everything: the last thing at exit.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        if let Some(last) = self.rows.len().checked_sub(1) {
            self.move_to_row(last, out);
            out.extend_from_slice(b"\r\n");
        }
        self.forget();
    }

    /// Removes the dock and leaves the document, because another program gets the terminal. The
    /// next frame starts at the terminal's cursor and writes what comes after the document.
    pub fn suspend(&mut self, out: &mut Vec<u8>) {
        let document = self.rows.iter().take_while(|row| row.source.is_some()).count();
        if document < self.rows.len() {
            self.move_to(document, 0, out);
            out.extend_from_slice(ERASE_BELOW);
        } else if document > 0 {
            self.move_to_row(document - 1, out);
            out.extend_from_slice(b"\r\n");
        }
        let rows = std::mem::take(&mut self.rows);
        self.commit(&rows[..document]);
        self.forget();
    }

    fn forget(&mut self) {
        self.rows.clear();
        self.images.forget();
        self.history.clear();
        self.cursor = Cursor::default();
        self.is_cursor_shown = None;
    }

    /// Writes the first block that is partly visible again as a whole with the next frame, because
    /// the user asked for another look of the document.
    pub fn redraw(&mut self) {
        let first = self.rows.first().and_then(|row| row.source);
        if let Some((block, _)) = first.filter(|(block, _)| self.position.block == Some(*block)) {
            self.position = Position::before(block);
        }
    }
}
