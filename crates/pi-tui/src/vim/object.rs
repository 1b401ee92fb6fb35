//! Text objects: words, quoted texts, texts in brackets.

use std::ops::Range;

use crate::buffer::Buffer;
use crate::buffer::Position;
use crate::buffer::units::{self, Class};

use super::parse::{Object, ObjectKind};

/// Returns the range of an object around a place.
pub(super) fn range(buffer: &Buffer, at: Position, object: Object) -> Option<Range<Position>> {
    let line = buffer.line(at.line);
    let in_line = |range: Range<usize>| {
        Position::new(at.line, range.start)..Position::new(at.line, range.end)
    };
    match object.kind {
        ObjectKind::Word { big } => Some(in_line(word(line, at.column, big, object.around))),
        ObjectKind::Quotes(quote) => quoted(line, at.column, quote, object.around).map(in_line),
        ObjectKind::Brackets(open, close) => {
            brackets(buffer, at, open, close).map(|inner| match object.around {
                true => buffer.left(inner.start)..buffer.right(inner.end),
                false => inner,
            })
        }
    }
}

fn class_of(unit: &str, big: bool) -> Class {
    match units::class(unit) {
        Class::Space => Class::Space,
        _ if big => Class::Word,
        class => class,
    }
}

/// Returns the word at a place, or the spaces there. Around a word are the spaces after it, or
/// those before it if there are none.
fn word(line: &str, at: usize, big: bool, around: bool) -> Range<usize> {
    let runs = runs(line, big);
    let Some(index) = runs.iter().position(|(range, _)| range.contains(&at)) else { return at..at };
    let (mut range, class) = runs[index].clone();
    if around {
        let before = index.checked_sub(1).and_then(|before| runs.get(before));
        match runs.get(index + 1) {
            Some((after, after_class))
                if (class == Class::Space) != (*after_class == Class::Space) =>
            {
                range.end = after.end;
            }
            _ => {
                if let Some((before, Class::Space)) = before {
                    range.start = before.start;
                }
            }
        }
    }
    range
}

/// Returns the runs of units of one kind.
fn runs(line: &str, big: bool) -> Vec<(Range<usize>, Class)> {
    let mut runs: Vec<(Range<usize>, Class)> = Vec::new();
    for (at, unit) in units::units(line) {
        let class = class_of(unit, big);
        match runs.last_mut() {
            Some((range, last)) if *last == class => range.end = at + unit.len(),
            _ => runs.push((at..at + unit.len(), class)),
        }
    }
    runs
}

/// Returns the quoted text at a place, or the next one in the line.
fn quoted(line: &str, at: usize, quote: char, around: bool) -> Option<Range<usize>> {
    let mut quotes = Vec::new();
    let mut is_escaped = false;
    for (offset, character) in line.char_indices() {
        if character == quote && !is_escaped {
            quotes.push(offset);
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    let mut pairs = quotes.chunks_exact(2).map(|pair| (pair[0], pair[1]));
    let (start, end) = pairs.find(|(_, end)| *end >= at)?;
    let inner = start + quote.len_utf8()..end;
    if !around {
        return Some(inner);
    }
    let mut range = start..end + quote.len_utf8();
    let after = line.get(range.end..).unwrap_or_default();
    range.end += after.len() - after.trim_start().len();
    Some(range)
}

/// Returns the text between the innermost brackets around a place, in any lines.
fn brackets(buffer: &Buffer, at: Position, open: char, close: char) -> Option<Range<Position>> {
    let character =
        |at: Position| buffer.line(at.line).get(at.column..).and_then(|rest| rest.chars().next());
    let mut start = at;
    let mut depth = 0;
    // A closing bracket under the caret belongs to the pair.
    if character(start) == Some(close) {
        start = buffer.left(start);
    }
    loop {
        match character(start) {
            Some(found) if found == open && depth == 0 => break,
            Some(found) if found == open => depth -= 1,
            Some(found) if found == close => depth += 1,
            _ => {}
        }
        let before = buffer.left(start);
        if before == start {
            return None;
        }
        start = before;
    }
    let inner = buffer.right(start);
    let mut end = inner;
    let mut depth = 0;
    loop {
        match character(end) {
            Some(found) if found == close && depth == 0 => return Some(inner..end),
            Some(found) if found == close => depth -= 1,
            Some(found) if found == open => depth += 1,
            _ => {}
        }
        let after = buffer.right(end);
        if after == end {
            return None;
        }
        end = after;
    }
}
