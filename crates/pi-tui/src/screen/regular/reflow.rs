//! What a terminal does to lines that were written when its size changes.
//!
//! Terminals wrap lines again when they become narrower or wider, and move them between the screen
//! and the scrollback. The cursor stays with its text: its row, and the widths of the lines that
//! were written above it, tell which lines are on the screen. Those are written again for the new
//! width; lines in the scrollback are final.

use std::io::Write as _;

use super::super::Size;
use super::super::cells::{Cell, cells, trimmed};
use super::position::{Mark, Position};
use super::{Cursor, ERASE_BELOW, HISTORY, RegularScreen};
use crate::blocks::BlockId;
use crate::text::{Line, LineEnd};

/// A line that was written.
#[derive(Debug, Clone)]
pub(super) struct Emitted {
    width: usize,
    /// Widths of the cells; empty if all are one column wide.
    cells: Box<[u8]>,
    /// The place before the line.
    pub(super) source: Option<(BlockId, Mark)>,
    /// The line does not continue the one before it.
    is_paragraph: bool,
    /// The next line does not continue this one.
    pub(super) ends_paragraph: bool,
}

impl Emitted {
    pub(super) fn new(
        line: &Line,
        columns: usize,
        source: Option<(BlockId, Mark)>,
        is_paragraph: bool,
    ) -> Self {
        let cells = cells(line, columns);
        let cells = &cells[..trimmed(&cells)];
        let width = cells.last().map_or(0, Cell::end);
        let widths = if cells.iter().all(|cell| cell.width == 1) {
            Box::default()
        } else {
            cells.iter().map(|cell| cell.width as u8).collect()
        };
        let ends_paragraph = line.end == LineEnd::Hard;
        Self { width, cells: widths, source, is_paragraph, ends_paragraph }
    }

    /// Returns the rows that the line takes in a terminal of this width.
    fn rows(&self, columns: usize) -> usize {
        if self.width == 0 { 1 } else { self.row_of(self.width - 1, columns) + 1 }
    }

    /// Returns the row within the line where a column comes to stand.
    fn row_of(&self, column: usize, columns: usize) -> usize {
        if self.cells.is_empty() || columns < 2 {
            return column / columns;
        }
        let (mut at, mut row, mut used) = (0, 0, 0);
        for width in &*self.cells {
            let width = usize::from(*width);
            if used + width > columns {
                (row, used) = (row + 1, 0);
            }
            if at + width > column {
                return row;
            }
            (at, used) = (at + width, used + width);
        }
        row + (used + column - at) / columns
    }

    /// Returns the row within the line where the cursor comes to stand.
    fn cursor_row(&self, column: usize, columns: usize) -> usize {
        // After the text, at the edge, the cursor stays in the row that is full.
        if column > 0 && column >= self.width && column.is_multiple_of(columns) {
            self.row_of(column - 1, columns)
        } else {
            self.row_of(column, columns)
        }
    }
}

impl RegularScreen {
    /// Changes the size. Appends a question for the cursor; frames are withheld until
    /// [`Self::cursor_reported`] has the answer or [`Self::cursor_unknown`] gives up. The caller must
    /// draw no frame between the notice of a new size and this call: its rows would not be where
    /// they were.
    pub fn resize(&mut self, size: Size, out: &mut Vec<u8>) {
        // The size may be the same again after a window was dragged: what was on the screen is not.
        self.size = size;
        if self.rows.is_empty() {
            return;
        }
        self.questions += 1;
        out.extend_from_slice(b"\x1b[6n");
    }

    /// Returns true while the terminal has not answered where its cursor is.
    pub fn awaits_cursor(&self) -> bool {
        self.questions > 0
    }

    /// Receives the place of the terminal's cursor, from 0.
    pub fn cursor_reported(&mut self, row: usize, column: usize) {
        if self.questions > 0 {
            self.questions -= 1;
            if self.questions == 0 && self.is_cursor_lost(row, column) {
                self.start_anew();
            } else if self.questions == 0 {
                self.reflow(Some(row));
            }
        }
    }

    /// Returns true if the text at the cursor is in the scrollback: tmux then puts the cursor into the
    /// upper left corner.
    fn is_cursor_lost(&self, row: usize, column: usize) -> bool {
        let wrapped = self.cursor.column.unwrap_or(0) % self.size.columns;
        self.reflows && (row, column) == (0, 0) && wrapped != 0 && self.cursor.row > 0
    }

    /// Starts below all that was written. What is above is unknown and stays, also if the terminal
    /// grows and shows it again.
    fn start_anew(&mut self) {
        self.position = self.end_of_rows();
        self.history.clear();
        self.erase_from(0);
    }

    /// Gives up waiting for the place of the cursor, and assumes that the end of the document is at
    /// the bottom of the terminal.
    pub fn cursor_unknown(&mut self) {
        if std::mem::take(&mut self.questions) > 0 {
            self.reflow(None);
        }
    }

    /// Finds the first line that is written again: the first block that starts on the screen, or the
    /// first paragraph, or the first line.
    fn reflow(&mut self, cursor_row: Option<usize>) {
        if self.rows.is_empty() {
            return;
        }
        let columns = self.size.columns;
        let height = |line: &Emitted| if self.reflows { line.rows(columns) } else { 1 };
        let shown = self.emitted(&self.rows);
        let mut lines: Vec<Emitted> = self.history.drain(..).collect();
        let current = lines.len() + self.cursor.row;
        lines.extend(shown);
        let Some(line) = lines.get(current) else { return };

        let column = self.cursor.column.unwrap_or(0);
        let within = if self.reflows { line.cursor_row(column, columns) } else { 0 };
        let cursor_row = cursor_row.unwrap_or_else(|| {
            let below: usize = lines[current..].iter().map(height).sum();
            (self.size.rows + within).saturating_sub(below)
        });

        // Rows from the first row of a line to that of the cursor, for lines on the screen.
        let mut above = within;
        let mut on_screen = Vec::new();
        for (index, line) in lines.iter().enumerate().take(current + 1).rev() {
            if index < current {
                above += height(line);
            }
            if above > cursor_row {
                break;
            }
            on_screen.push((index, above));
        }
        on_screen.reverse();
        let find = |accept: &dyn Fn(&Emitted, Mark) -> bool| {
            on_screen.iter().copied().find(|(index, _)| {
                let line = &lines[*index];
                line.source.is_some_and(|(_, mark)| accept(line, mark))
            })
        };
        let first = find(&|_, mark| mark.line == 0)
            .or_else(|| find(&|line, _| line.is_paragraph))
            .or_else(|| on_screen.first().copied());
        let (index, above) = first.unwrap_or((current, within.min(cursor_row)));

        self.position = match lines.get(index).and_then(|line| line.source) {
            // The line may have been written for another width than the last frame: it is found
            // again by its text.
            Some((block, mark)) => Position { block: Some(block), mark, width: 0 },
            None => self.end_of_rows(),
        };
        lines.truncate(index);
        let surplus = lines.len().saturating_sub(HISTORY);
        self.history = lines.drain(surplus..).collect();
        self.erase_from(above);
    }

    /// Begins the next frame some rows above the cursor, and erases what is there and below.
    fn erase_from(&mut self, above: usize) {
        self.rows.clear();
        self.cursor = Cursor::default();
        self.prelude.clear();
        if above > 0 {
            let _ = write!(self.prelude, "\x1b[{above}A");
        }
        self.prelude.push(b'\r');
        self.prelude.extend_from_slice(ERASE_BELOW);
    }

    /// Returns the place after the last row of the document.
    fn end_of_rows(&self) -> Position {
        let document = self.rows.iter().take_while(|row| row.source.is_some()).count();
        let emitted = self.emitted(&self.rows[..document]);
        match (emitted.last().and_then(|line| line.source), self.rows[..document].last()) {
            (Some((block, mark)), Some(shown)) => {
                let mark = mark.after(shown.row.line());
                Position { block: Some(block), mark, width: self.position.width }
            }
            _ => self.position,
        }
    }
}
