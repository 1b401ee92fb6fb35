//! A grid of cells on which boxes, lines and labels are drawn.

use crate::text;
use crate::text::{Line, Span};
use crate::theme::{Theme, Token};

/// Cells of a diagram that is drawn.
const AREA_LIMIT: usize = 400 * 400;

/// The directions in which a line leaves a cell, as bits.
pub(super) const UP: u8 = 1;
pub(super) const DOWN: u8 = 2;
pub(super) const LEFT: u8 = 4;
pub(super) const RIGHT: u8 = 8;

/// The content of a cell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Cell {
    #[default]
    Empty,
    /// Lines, and the numbers of the edges whose lines they are.
    Lines { bits: u8, across: Option<Owner>, along: Option<Owner> },
    /// A grapheme cluster. A wide one is followed by an empty text.
    Text(String, Token),
}

/// The edge that a line belongs to: lines of one source, or to one target, may be shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) source: usize,
    pub(super) target: usize,
}

impl Owner {
    fn may_share(self, other: Self) -> bool {
        self.source == other.source || self.target == other.target
    }
}

/// The grid.
#[derive(Debug, Clone)]
pub(super) struct Canvas {
    width: usize,
    height: usize,
    cells: Vec<Cell>,
}

impl Canvas {
    /// Creates an empty grid. Returns nothing if it would be too large.
    pub(super) fn new(width: usize, height: usize) -> Option<Self> {
        let area = width.checked_mul(height).filter(|area| *area <= AREA_LIMIT)?;
        Some(Self { width, height, cells: vec![Cell::Empty; area] })
    }

    fn cell(&mut self, x: usize, y: usize) -> Option<&mut Cell> {
        if x >= self.width || y >= self.height {
            return None;
        }
        self.cells.get_mut(y * self.width + x)
    }

    /// Writes text, which replaces what is there.
    pub(super) fn text(&mut self, x: usize, y: usize, content: &str, token: Token) {
        let mut column = x;
        for grapheme in text::graphemes(content) {
            let width = text::grapheme_width(grapheme);
            if let Some(cell) = self.cell(column, y)
                && width > 0
            {
                *cell = Cell::Text(grapheme.to_owned(), token);
            }
            for more in 1..width {
                if let Some(cell) = self.cell(column + more, y) {
                    *cell = Cell::Text(String::new(), token);
                }
            }
            column += width;
        }
    }

    /// Returns true if there is nothing in these cells.
    pub(super) fn is_free(&mut self, x: usize, y: usize, width: usize) -> bool {
        (x..x + width).all(|x| matches!(self.cell(x, y), Some(Cell::Empty)))
    }

    /// Draws a box with a label in the middle.
    pub(super) fn labeled_box(&mut self, x: usize, y: usize, label: &str, is_round: bool) {
        let width = text::width(label) + 2;
        let bar = "─".repeat(width);
        let [a, b, c, d] =
            if is_round { ["╭", "╮", "╰", "╯"] } else { ["┌", "┐", "└", "┘"] };
        self.text(x, y, &format!("{a}{bar}{b}"), Token::BorderMuted);
        self.text(x, y + 1, "│", Token::BorderMuted);
        self.text(x + 2, y + 1, label, Token::Text);
        self.text(x + width + 1, y + 1, "│", Token::BorderMuted);
        self.text(x, y + 2, &format!("{c}{bar}{d}"), Token::BorderMuted);
    }

    /// Writes a label over a line. Returns nothing if there is another text, or no line.
    pub(super) fn label(&mut self, x: usize, y: usize, content: &str) -> Option<()> {
        let is_line = |cell: Option<&mut Cell>| matches!(cell, Some(Cell::Lines { bits, .. }) if *bits == LEFT | RIGHT);
        let width = text::width(content);
        let fits = (x..x + width).all(|x| is_line(self.cell(x, y)));
        fits.then(|| self.text(x, y, content, Token::Muted))
    }

    /// Draws a frame with a title. Lines may cross it. Returns nothing if something else is in its
    /// way.
    pub(super) fn frame(
        &mut self,
        (left, top): (usize, usize),
        (right, bottom): (usize, usize),
        title: &str,
    ) -> Option<()> {
        for x in left + 1..right {
            self.border(x, top, "─", UP | DOWN)?;
            self.border(x, bottom, "─", UP | DOWN)?;
        }
        for y in top + 1..bottom {
            self.border(left, y, "│", LEFT | RIGHT)?;
            self.border(right, y, "│", LEFT | RIGHT)?;
        }
        for (x, y, corner) in
            [(left, top, "┌"), (right, top, "┐"), (left, bottom, "└"), (right, bottom, "┘")]
        {
            self.border(x, y, corner, 0)?;
        }
        // The title must not hide where a line crosses.
        let title = format!(" {title} ");
        let width = text::width(&title);
        let plain = Cell::Text("─".to_owned(), Token::BorderMuted);
        let room = (left + 1..=right.saturating_sub(width)).find(|start| {
            (*start..start + width).all(|x| self.cell(x, top).is_some_and(|cell| *cell == plain))
        })?;
        self.text(room, top, &title, Token::Muted);
        Some(())
    }

    /// Draws a part of a frame, over a line that crosses it.
    fn border(&mut self, x: usize, y: usize, part: &str, crossing: u8) -> Option<()> {
        let cell = self.cell(x, y)?;
        let sign = match cell {
            Cell::Empty => part,
            Cell::Lines { bits, .. } if *bits == crossing => "┼",
            _ => return None,
        };
        *cell = Cell::Text(sign.to_owned(), Token::BorderMuted);
        Some(())
    }

    /// Draws a straight line between two cells, both included. Returns nothing if it would run
    /// along the line of another edge.
    pub(super) fn line(
        &mut self,
        from: (usize, usize),
        to: (usize, usize),
        owner: Owner,
    ) -> Option<()> {
        let is_across = from.1 == to.1;
        let (first, last) = if is_across {
            (from.0.min(to.0), from.0.max(to.0))
        } else {
            (from.1.min(to.1), from.1.max(to.1))
        };
        for at in first..=last {
            let (x, y) = if is_across { (at, from.1) } else { (from.0, at) };
            let mut add = 0;
            if at > first {
                add |= if is_across { LEFT } else { UP };
            }
            if at < last {
                add |= if is_across { RIGHT } else { DOWN };
            }
            self.add_lines(x, y, add, owner, is_across)?;
        }
        Some(())
    }

    /// Adds lines that leave a cell.
    pub(super) fn add_lines(
        &mut self,
        x: usize,
        y: usize,
        add: u8,
        owner: Owner,
        is_across: bool,
    ) -> Option<()> {
        let cell = self.cell(x, y)?;
        if *cell == Cell::Empty {
            *cell = Cell::Lines { bits: 0, across: None, along: None };
        }
        let Cell::Lines { bits, across, along } = cell else { return None };
        let slot = if is_across { across } else { along };
        if slot.is_some_and(|other| !other.may_share(owner)) {
            return None;
        }
        *bits |= add;
        *slot = Some(owner);
        Some(())
    }

    /// Returns true if lines of different edges meet in a cell other than by crossing: they would
    /// look joined.
    pub(super) fn is_ambiguous(&self) -> bool {
        self.cells.iter().any(|cell| match cell {
            Cell::Lines { bits, across: Some(across), along: Some(along) } => {
                *bits != UP | DOWN | LEFT | RIGHT && !across.may_share(*along)
            }
            _ => false,
        })
    }

    /// Returns the rows as lines, without empty cells at their ends.
    pub(super) fn lines(&self, theme: &Theme) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        for row in self.cells.chunks(self.width.max(1)) {
            let used = row.iter().rposition(|cell| *cell != Cell::Empty).map_or(0, |at| at + 1);
            let mut line = Line::new();
            for cell in row.iter().take(used) {
                match cell {
                    Cell::Empty => line.push_span(Span::new(" ", crate::Style::PLAIN)),
                    Cell::Lines { bits, .. } => line.push(joint(*bits), theme.fg(Token::Accent)),
                    Cell::Text(text, token) => line.push(text.as_str(), theme.fg(*token)),
                }
            }
            lines.push(line);
        }
        while lines.last().is_some_and(|line| line.width() == 0) {
            lines.pop();
        }
        let empty = lines.iter().take_while(|line| line.width() == 0).count();
        lines.drain(..empty);
        let unused = self.unused_columns();
        lines.iter().map(|line| text::slice(line, unused, line.width())).collect()
    }

    /// Returns the number of empty columns at the left.
    fn unused_columns(&self) -> usize {
        let rows = self.cells.chunks(self.width.max(1));
        let first = rows.filter_map(|row| row.iter().position(|cell| *cell != Cell::Empty)).min();
        first.unwrap_or(0)
    }
}

fn joint(bits: u8) -> &'static str {
    const JOINTS: [&str; 16] =
        [" ", "│", "│", "│", "─", "┘", "┐", "┤", "─", "└", "┌", "├", "─", "┴", "┬", "┼"];
    JOINTS.get(usize::from(bits)).copied().unwrap_or(" ")
}
