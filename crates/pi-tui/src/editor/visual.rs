//! Movement of the caret by rows of the screen.

use crate::buffer::layout::unit_width;
use crate::buffer::{Buffer, Position, units};

/// A row of the screen: a line of the text, and the number of the row in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowId {
    pub(crate) line: usize,
    pub(crate) row: usize,
}

impl Buffer {
    /// Sets the columns of a row.
    pub(crate) fn set_width(&mut self, width: usize) {
        self.layout.set_width(width, self.text.lines(), &self.pastes);
    }

    /// Returns the row in which the caret stands.
    pub(crate) fn caret_row(&self) -> RowId {
        let line = self.caret.line;
        if self.layout.rows(line) == 1 {
            return RowId { line, row: 0 };
        }
        let rows = self.layout.ranges(line, self.line(line), &self.pastes);
        let row = rows.iter().rposition(|row| row.start <= self.caret.column).unwrap_or(0);
        RowId { line, row }
    }

    /// Returns the row that is `count` rows above, or the first one.
    pub(crate) fn row_above(&self, mut from: RowId, mut count: usize) -> RowId {
        while count > from.row {
            let Some(line) = from.line.checked_sub(1) else { return RowId::default() };
            count -= from.row + 1;
            from = RowId { line, row: self.layout.rows(line) - 1 };
        }
        RowId { row: from.row - count, ..from }
    }

    /// Returns the row that is `count` rows below, or the last one.
    pub(crate) fn row_below(&self, mut from: RowId, mut count: usize) -> RowId {
        loop {
            let left = self.layout.rows(from.line) - 1 - from.row;
            if count <= left {
                return RowId { row: from.row + count, ..from };
            }
            if from.line + 1 >= self.lines().len() {
                return RowId { row: from.row + left, ..from };
            }
            count -= left + 1;
            from = RowId { line: from.line + 1, row: 0 };
        }
    }

    /// Returns true if no row is above the caret.
    pub(crate) fn is_in_first_row(&self) -> bool {
        self.caret.line == 0 && self.caret_row().row == 0
    }

    /// Returns true if no row is below the caret.
    pub(crate) fn is_in_last_row(&self) -> bool {
        let row = self.caret_row();
        row.line + 1 == self.lines().len() && row.row + 1 == self.layout.rows(row.line)
    }

    /// Moves the caret up (negative) or down by rows. The column is kept over shorter rows.
    pub(crate) fn move_rows(&mut self, rows: isize) {
        let from = self.caret_row();
        let to = match rows < 0 {
            true => self.row_above(from, rows.unsigned_abs()),
            false => self.row_below(from, rows.unsigned_abs()),
        };
        let goal = self.goal.unwrap_or_else(|| self.column_of(from, self.caret.column));
        let column = self.offset_at(to, goal);
        self.move_to(Position::new(to.line, column));
        self.goal = Some(goal);
    }

    /// Moves the caret to the cell at a column of a row, or to the end of the row.
    pub(crate) fn move_to_column(&mut self, row: RowId, column: usize) {
        self.move_to(Position::new(row.line, self.offset_at(row, column)));
    }

    /// Returns the byte range of a row.
    pub(crate) fn row_range(&self, row: RowId) -> std::ops::Range<usize> {
        let line = self.line(row.line);
        if self.layout.rows(row.line) == 1 {
            return 0..line.len();
        }
        let rows = self.layout.ranges(row.line, line, &self.pastes);
        rows.get(row.row).cloned().unwrap_or(0..line.len())
    }

    /// Returns the column of the screen at which an offset stands.
    fn column_of(&self, row: RowId, offset: usize) -> usize {
        let mut column = 0;
        let line = self.line(row.line);
        let mut at = self.row_range(row).start;
        while at < offset {
            let end = units::next(line, at);
            column += unit_width(line, at, end, &self.pastes, self.layout.width());
            at = end;
        }
        column
    }

    /// Returns the offset at a column of the screen, or the last one of the row.
    fn offset_at(&self, row: RowId, goal: usize) -> usize {
        let range = self.row_range(row);
        let line = self.line(row.line);
        let is_last = row.row + 1 == self.layout.rows(row.line);
        let mut column = 0;
        let mut at = range.start;
        while at < range.end {
            let end = units::next(line, at);
            // The end of a wrapped row is the start of the next one.
            if end == range.end && !is_last {
                break;
            }
            column += unit_width(line, at, end, &self.pastes, self.layout.width());
            if column > goal {
                break;
            }
            at = end;
        }
        at
    }
}
