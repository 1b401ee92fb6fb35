//! Selected text. A copy has the source of what is shown: without layout, and with wrapped lines
//! joined.

use std::ops::Range;

use super::super::Row;
use super::super::cells::{Cell, cells};
use super::FullScreen;
use super::decorate::restyle;
use super::viewport::Place;
use crate::blocks::Blocks;
use crate::component::View;
use crate::text::{Line, LineEnd, Lines};
use crate::theme::Theme;

/// What a selection consists of: characters after a press, words after a double click, lines after
/// a triple click.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Character,
    Word,
    Line,
}

/// A place between two cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) place: Place,
    pub(super) column: usize,
}

/// A range of text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Selection {
    unit: Unit,
    /// The unit where the selection began.
    anchor: (Point, Point),
    /// The unit at the mouse.
    head: (Point, Point),
}

impl Selection {
    /// Starts a selection at a cell.
    pub(super) fn new(unit: Unit, at: Point, blocks: &mut Blocks, view: View<'_>) -> Self {
        let bounds = bounds(unit, at, &blocks.lines(at.place.block, view));
        Self { unit, anchor: bounds, head: bounds }
    }

    /// Extends the selection to a cell.
    pub(super) fn extend(&mut self, to: Point, blocks: &mut Blocks, view: View<'_>) {
        self.head = bounds(self.unit, to, &blocks.lines(to.place.block, view));
    }

    /// Returns the first and the last point; `None` if a block is gone.
    fn range(&self, blocks: &Blocks) -> Option<(Point, Point)> {
        let key = |point: &Point| {
            let Point { place, column } = *point;
            blocks.index_of(place.block).map(|index| (index, place.line, column))
        };
        let (starts, ends) = ([self.anchor.0, self.head.0], [self.anchor.1, self.head.1]);
        if starts.iter().chain(&ends).any(|point| key(point).is_none()) {
            return None;
        }
        Some((starts.into_iter().min_by_key(key)?, ends.into_iter().max_by_key(key)?))
    }

    /// Returns the selected text.
    pub(super) fn text(&self, blocks: &mut Blocks, view: View<'_>) -> Option<String> {
        let (start, end) = self.range(blocks)?;
        let mut copy = Copy::default();
        let mut next = Some(start.place.block);
        while let Some(block) = next {
            for (index, line) in blocks.lines(block, view).iter().enumerate() {
                let place = Place { block, line: index };
                let is_before = block == start.place.block && index < start.place.line;
                let is_after = block == end.place.block && index > end.place.line;
                if is_before || is_after {
                    continue;
                }
                let from = if place == start.place { start.column } else { 0 };
                let to = if place == end.place { end.column } else { usize::MAX };
                copy.add(line, from..to);
            }
            next = if block == end.place.block { None } else { blocks.next(block) };
        }
        Some(copy.finish()).filter(|text| !text.is_empty())
    }
}

/// Text that is being copied.
#[derive(Default)]
struct Copy {
    text: String,
    /// What is between the text so far and the next line.
    end: Option<LineEnd>,
}

impl Copy {
    fn add(&mut self, line: &Line, columns: Range<usize>) {
        let all = cells(line, usize::MAX);
        // A line that only draws something, like the border of a table, is no line of the source.
        let is_drawing = !all.is_empty()
            && all.iter().all(|cell| cell.is_layout)
            && all.iter().any(|cell| !cell.text.trim().is_empty());
        if is_drawing {
            return;
        }
        match self.end {
            Some(LineEnd::Hard) => {
                self.trim();
                self.text.push('\n');
            }
            Some(LineEnd::Space) => {
                self.trim();
                self.text.push(' ');
            }
            Some(LineEnd::Joined) | None => {}
        }
        let copied = all.iter().filter(|cell| columns.contains(&cell.column) && !cell.is_layout);
        self.text.extend(copied.map(|cell| cell.text));
        self.end = Some(line.end);
    }

    fn trim(&mut self) {
        let length = self.text.trim_end_matches(' ').len();
        self.text.truncate(length);
    }

    fn finish(self) -> String {
        self.text.trim_end().to_owned()
    }
}

/// Returns the unit around a cell.
fn bounds(unit: Unit, at: Point, lines: &Lines) -> (Point, Point) {
    let Point { place, column } = at;
    let Some(line) = lines.get(place.line) else { return (at, at) };
    let cells = cells(line, usize::MAX);
    let here = cells.iter().position(|cell| (cell.column..cell.end()).contains(&column));
    let columns = |range: Range<usize>| {
        (Point { place, column: range.start }, Point { place, column: range.end })
    };
    match unit {
        Unit::Character => columns(match here {
            Some(index) => cells[index].column..cells[index].end(),
            None => column..column,
        }),
        Unit::Word => columns(match here {
            Some(index) if is_word(&cells[index]) => {
                let first = cells[..index].iter().rposition(|cell| !is_word(cell));
                let first = first.map_or(0, |before| before + 1);
                let rest = cells[index..].iter().position(|cell| !is_word(cell));
                let last = rest.map_or(cells.len(), |after| index + after) - 1;
                cells[first].column..cells[last].end()
            }
            Some(index) => cells[index].column..cells[index].end(),
            None => column..column,
        }),
        Unit::Line => {
            // A wrapped line is selected as a whole.
            let is_joined =
                |line: &usize| lines.get(*line).is_some_and(|it| it.end != LineEnd::Hard);
            let mut first = place.line;
            while first > 0 && is_joined(&(first - 1)) {
                first -= 1;
            }
            let mut last = place.line;
            while last + 1 < lines.len() && is_joined(&last) {
                last += 1;
            }
            let block = place.block;
            let end = lines.get(last).map_or(0, Line::width);
            (
                Point { place: Place { block, line: first }, column: 0 },
                Point { place: Place { block, line: last }, column: end },
            )
        }
    }
}

/// Returns true for the characters of words, paths and options.
fn is_word(cell: &Cell<'_>) -> bool {
    cell.text.chars().next().is_some_and(|first| {
        first.is_alphanumeric() || matches!(first, '/' | '-' | '+' | '\\' | '~' | '_' | '.')
    }) && !cell.is_layout
}

impl FullScreen {
    /// Returns the selected text.
    pub fn selected_text(&self, blocks: &mut Blocks, theme: &Theme) -> Option<String> {
        let view = self.block_view(theme);
        self.selection.as_ref()?.text(blocks, view)
    }

    /// Shows the selection in the visible rows.
    pub(super) fn highlight_selection(&self, blocks: &Blocks, rows: &mut [Row]) {
        let Some((start, end)) = self.selection.as_ref().and_then(|it| it.range(blocks)) else {
            return;
        };
        let key = |place: Place| (blocks.index_of(place.block), place.line);
        let (first, last) = (key(start.place), key(end.place));
        for (visible, row) in self.viewport.lines().iter().zip(rows) {
            let at = key(visible.place);
            if at < first || at > last {
                continue;
            }
            let from = if at == first { start.column } else { 0 };
            let to = if at == last { end.column } else { usize::MAX };
            *row = Row::own(restyle(row.line(), from..to, |style| style.inverse()));
        }
    }
}
