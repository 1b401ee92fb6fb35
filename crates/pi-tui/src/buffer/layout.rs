//! Rows of the screen: where the lines of an editor are wrapped.
//!
//! Only the number of rows of each line is kept; where a line is broken is computed again for the
//! few lines that are visible.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use super::paste::Pastes;
use super::units::{self, Class};
use crate::text::{is_cjk, width};

/// The columns of a tab.
pub(crate) const TAB: &str = "    ";

/// The number of rows of each line, for one width.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    width: usize,
    rows: Vec<u32>,
    total: usize,
    /// The rows of the line that was asked for last.
    recent: RefCell<Option<(usize, Rc<[Range<usize>]>)>>,
}

impl Layout {
    pub(crate) fn new() -> Self {
        Self { width: usize::MAX, rows: vec![1], total: 1, recent: RefCell::new(None) }
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Returns the number of all rows.
    pub(crate) fn total(&self) -> usize {
        self.total
    }

    /// Returns the number of rows of a line.
    pub(crate) fn rows(&self, line: usize) -> usize {
        self.rows.get(line).map_or(1, |rows| *rows as usize)
    }

    /// Returns the byte ranges of the rows of a line.
    pub(crate) fn ranges(&self, number: usize, line: &str, pastes: &Pastes) -> Rc<[Range<usize>]> {
        let mut recent = self.recent.borrow_mut();
        match &*recent {
            Some((known, ranges)) if *known == number => Rc::clone(ranges),
            _ => {
                let ranges: Rc<[Range<usize>]> = rows(line, self.width, pastes).into();
                *recent = Some((number, Rc::clone(&ranges)));
                ranges
            }
        }
    }

    /// Returns the number of rows of all lines before `line`.
    pub(crate) fn rows_before(&self, line: usize) -> usize {
        self.rows.iter().take(line).map(|rows| *rows as usize).sum()
    }

    /// Wraps all lines at another width.
    pub(crate) fn set_width(&mut self, width: usize, lines: &[String], pastes: &Pastes) {
        let width = width.max(1);
        if width != self.width {
            self.width = width;
            self.refresh(lines, pastes);
        }
    }

    /// Wraps all lines again, because labels of markers changed.
    pub(crate) fn refresh(&mut self, lines: &[String], pastes: &Pastes) {
        *self.recent.get_mut() = None;
        self.rows = lines.iter().map(|line| count(line, self.width, pastes)).collect();
        self.total = self.rows_before(lines.len());
    }

    /// Follows a change of the text: the lines `old` became the lines `new`.
    pub(crate) fn replaced(
        &mut self,
        old: Range<usize>,
        new: Range<usize>,
        lines: &[String],
        pastes: &Pastes,
    ) {
        *self.recent.get_mut() = None;
        let width = self.width;
        let counts: Vec<u32> = lines[new].iter().map(|line| count(line, width, pastes)).collect();
        self.total += counts.iter().map(|rows| *rows as usize).sum::<usize>();
        let removed = self.rows.splice(old, counts);
        self.total -= removed.map(|rows| rows as usize).sum::<usize>();
    }
}

fn count(line: &str, width: usize, pastes: &Pastes) -> u32 {
    let mut rows = 1;
    wrap(line, width, pastes, |_| rows += 1);
    rows
}

/// Returns the byte ranges of the rows of a line. There is always at least one.
fn rows(line: &str, width: usize, pastes: &Pastes) -> Vec<Range<usize>> {
    let mut rows = Vec::new();
    let mut start = 0;
    wrap(line, width, pastes, |at| {
        rows.push(start..at);
        start = at;
    });
    rows.push(start..line.len());
    rows
}

/// Returns the number of columns of a unit. Nothing is wider than a row.
pub(crate) fn unit_width(line: &str, at: usize, end: usize, pastes: &Pastes, max: usize) -> usize {
    let unit = &line[at..end];
    let columns = match unit.as_bytes() {
        [b'\t'] => TAB.len(),
        [_] => 1,
        [_, _, _] if unit.chars().all(units::is_wide_letter) => 2,
        _ => match pastes.label_at(line, at) {
            Some(label) => width(label),
            None => width(unit),
        },
    };
    columns.min(max)
}

/// Breaks a line: after spaces, between CJK characters, and within words that do not fit. Calls
/// `emit` with each offset at which a new row begins.
fn wrap(line: &str, max: usize, pastes: &Pastes, emit: impl FnMut(usize)) {
    if line.bytes().fold(true, |all, byte| all & (0x20..0x7f).contains(&byte)) {
        wrap_ascii(line.as_bytes(), max, emit);
    } else {
        wrap_units(line, max, pastes, emit);
    }
}

/// Breaks a line of which every byte is a column. Long lines are mostly of this kind.
fn wrap_ascii(line: &[u8], max: usize, mut emit: impl FnMut(usize)) {
    let mut start = 0;
    while line.len() - start > max {
        let limit = start + max;
        let may_break = |at: &usize| line[*at - 1] == b' ' && line[*at] != b' ';
        start = (start + 1..=limit).rev().find(may_break).unwrap_or(limit);
        emit(start);
    }
}

fn wrap_units(line: &str, max: usize, pastes: &Pastes, mut emit: impl FnMut(usize)) {
    let mut row_start = 0;
    let mut columns = 0;
    // The last place where the row may be broken, and the columns before it.
    let mut opportunity: Option<(usize, usize)> = None;
    let mut before = None;
    let mut at = 0;
    while at < line.len() {
        let end = units::next(line, at);
        let unit_columns = unit_width(line, at, end, pastes, max);
        let kind = kind(&line[at..end]);
        if before.is_some_and(|before| may_break(before, kind)) {
            opportunity = Some((at, columns));
        }
        if columns + unit_columns > max {
            match opportunity {
                Some((place, columns_before))
                    if place > row_start && columns - columns_before + unit_columns <= max =>
                {
                    emit(place);
                    row_start = place;
                    columns -= columns_before;
                }
                _ if at > row_start => {
                    emit(at);
                    row_start = at;
                    columns = 0;
                }
                _ => {}
            }
            opportunity = None;
        }
        columns += unit_columns;
        before = Some(kind);
        at = end;
    }
}

/// The kind of a unit for wrapping.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Space,
    Cjk,
    Other,
}

fn kind(unit: &str) -> Kind {
    if unit.len() == 1 {
        return if unit == " " || unit == "\t" { Kind::Space } else { Kind::Other };
    }
    match unit.chars().next() {
        Some(first) if is_cjk(first) => Kind::Cjk,
        _ if units::class(unit) == Class::Space => Kind::Space,
        _ => Kind::Other,
    }
}

fn may_break(before: Kind, after: Kind) -> bool {
    match (before, after) {
        (_, Kind::Space) => false,
        (Kind::Space | Kind::Cjk, _) | (_, Kind::Cjk) => true,
        (Kind::Other, Kind::Other) => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ascii_is_wrapped_like_other_text(line in "[ab ]{0,60}", max in 1usize..12) {
            let (mut ascii, mut units) = (Vec::new(), Vec::new());
            wrap_ascii(line.as_bytes(), max, |at| ascii.push(at));
            wrap_units(&line, max, &Pastes::default(), |at| units.push(at));
            prop_assert_eq!(ascii, units);
        }
    }
}
