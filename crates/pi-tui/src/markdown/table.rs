//! Tables: columns that share the width, cells that wrap, borders.

use pulldown_cmark::Alignment;

use crate::style::Style;
use crate::text;
use crate::text::{Line, LineEnd, Span};

/// Columns that a word keeps when a table is too wide.
const LONGEST_WORD: usize = 30;

/// A table that is being read.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// The alignment of the columns.
    pub(super) alignments: Vec<Alignment>,
    /// The rows; the first one is the header.
    pub(super) rows: Vec<Vec<Line>>,
}

impl Table {
    /// Returns the lines of the table, or nothing if the width is too small for it.
    pub(super) fn lines(&self, width: usize, border: Style) -> Option<Vec<Line>> {
        let count = self.alignments.len();
        // A border and two spaces for each column, and a border.
        let frame = 3 * count + 1;
        if count == 0 || width < frame + count {
            return None;
        }
        let widths = self.widths(count, width - frame);
        let rule = |marks: [&str; 3]| {
            let bars: Vec<String> = widths.iter().map(|width| "─".repeat(width + 2)).collect();
            let text = format!("{}{}{}", marks[0], bars.join(marks[1]), marks[2]);
            // A line of layout only leaves nothing in a copy, not even a line break.
            Line::from_spans([Span::layout(text, border)]).with_end(LineEnd::Joined)
        };
        let mut lines = vec![rule(["┌", "┬", "┐"])];
        for (index, row) in self.rows.iter().enumerate() {
            if index > 0 {
                lines.push(rule(["├", "┼", "┤"]));
            }
            self.row_lines(row, &widths, border, &mut lines);
        }
        lines.push(rule(["└", "┴", "┘"]));
        Some(lines)
    }

    fn row_lines(&self, row: &[Line], widths: &[usize], border: Style, lines: &mut Vec<Line>) {
        let empty = Line::new();
        let cell = |column: usize| row.get(column).unwrap_or(&empty);
        let cells: Vec<Vec<Line>> = widths
            .iter()
            .enumerate()
            .map(|(column, width)| text::wrap(cell(column), *width))
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1).max(1);
        for at in 0..height {
            let mut line = Line::new();
            line.push_span(Span::layout("│ ", border));
            for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
                if column > 0 {
                    // Copied, so that the cells of a row stay apart.
                    line.push(" │ ", border);
                }
                let part = cell.get(at).unwrap_or(&empty);
                let free = width.saturating_sub(part.width());
                let left = match self.alignments.get(column) {
                    Some(Alignment::Right) => free,
                    Some(Alignment::Center) => free / 2,
                    _ => 0,
                };
                line.push_span(Span::layout(" ".repeat(left), Style::PLAIN));
                line.append(part);
                line.push_span(Span::layout(" ".repeat(free - left), Style::PLAIN));
            }
            line.push_span(Span::layout(" │", border));
            lines.push(line);
        }
    }

    /// Distributes `available` columns: each column has what it needs if all fit; otherwise its
    /// longest word, and a share of the rest in proportion to what it lacks.
    fn widths(&self, count: usize, available: usize) -> Vec<usize> {
        let mut natural = vec![1; count];
        let mut least = vec![1; count];
        for row in &self.rows {
            for (column, cell) in row.iter().take(count).enumerate() {
                natural[column] = natural[column].max(cell.width());
                least[column] = least[column].max(longest_word(cell).min(LONGEST_WORD));
            }
        }
        if natural.iter().sum::<usize>() <= available {
            return natural;
        }
        if least.iter().sum::<usize>() > available {
            // Not even the words fit: every column has at least one cell.
            least = share(&least, &vec![1; count], available);
            return least;
        }
        share(&natural, &least, available)
    }
}

/// Returns `least` plus the free columns, distributed in proportion to what `wanted` has more.
fn share(wanted: &[usize], least: &[usize], available: usize) -> Vec<usize> {
    let lacking: Vec<usize> = wanted.iter().zip(least).map(|(want, has)| want - has).collect();
    let total = lacking.iter().sum::<usize>().max(1);
    let free = available.saturating_sub(least.iter().sum());
    let mut widths: Vec<usize> =
        least.iter().zip(&lacking).map(|(has, lacks)| has + free * lacks / total).collect();
    let mut left = available.saturating_sub(widths.iter().sum());
    for (width, want) in widths.iter_mut().zip(wanted) {
        let more = left.min(want - *width).min(1);
        *width += more;
        left -= more;
    }
    widths
}

fn longest_word(line: &Line) -> usize {
    line.text().split_whitespace().map(text::width).max().unwrap_or(0)
}
