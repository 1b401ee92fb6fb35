//! Where motions lead.

use crate::buffer::Buffer;
use crate::buffer::Position;
use crate::buffer::units::{self, Class};

use super::parse::{Find, Motion};

/// The end of a motion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reached {
    pub(super) to: Position,
    pub(super) span: Span,
}

/// The text that an operator takes between the caret and the end of a motion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Span {
    /// Without the character at its end.
    Exclusive,
    /// With the character at its end.
    Inclusive,
    /// All lines between.
    Lines,
}

/// Returns the end of a motion, or `None` if it is not possible.
pub(super) fn reach(
    buffer: &Buffer,
    from: Position,
    motion: Motion,
    count: Option<usize>,
) -> Option<Reached> {
    let times = count.unwrap_or(1);
    let line = buffer.line(from.line);
    let in_line = |column| Position::new(from.line, column);
    let last_line = buffer.lines().len() - 1;
    let exclusive = |to| Some(Reached { to, span: Span::Exclusive });
    let inclusive = |to| Some(Reached { to, span: Span::Inclusive });
    let lines = |line: usize| {
        let to = Position::new(line, first_non_blank(buffer.line(line)));
        Some(Reached { to, span: Span::Lines })
    };
    match motion {
        Motion::Left => {
            exclusive(in_line(repeat(from.column, times, |at| units::previous(line, at))))
        }
        Motion::Right => exclusive(in_line(repeat(from.column, times, |at| units::next(line, at)))),
        Motion::Up => {
            // A line that does not exist cannot be reached by any of the steps.
            lines(from.line.checked_sub(times)?)
        }
        Motion::Down => lines((from.line + times <= last_line).then_some(from.line + times)?),
        Motion::WordForward { big } => {
            exclusive(repeat(from, times, |at| word_forward(buffer, at, big)))
        }
        Motion::WordBackward { big } => {
            exclusive(repeat(from, times, |at| word_backward(buffer, at, big)))
        }
        Motion::WordEnd { big } => inclusive(repeat(from, times, |at| word_end(buffer, at, big))),
        Motion::LineStart => exclusive(in_line(0)),
        Motion::FirstNonBlank => exclusive(in_line(first_non_blank(line))),
        Motion::LineEnd => {
            let end = (from.line + times - 1).min(last_line);
            exclusive(buffer.line_end(end))
        }
        Motion::FirstLine => lines((times - 1).min(last_line)),
        Motion::LastLine => lines(count.map_or(last_line, |line| (line - 1).min(last_line))),
        Motion::Find(find) => {
            let to = in_line(find_in_line(line, from.column, find, times)?);
            let span = if find.forward { Span::Inclusive } else { Span::Exclusive };
            Some(Reached { to, span })
        }
        Motion::RepeatFind { .. } => None,
    }
}

fn repeat<T: Copy + PartialEq>(mut at: T, times: usize, step: impl Fn(T) -> T) -> T {
    for _ in 0..times {
        let next = step(at);
        if next == at {
            break;
        }
        at = next;
    }
    at
}

/// Returns the offset of the first character that is no space, or of the last one.
pub(super) fn first_non_blank(line: &str) -> usize {
    line.find(|character: char| !character.is_whitespace())
        .unwrap_or_else(|| units::previous(line, line.len()))
}

/// Returns the kind of the unit at a place; with `big`, all but spaces are of one kind.
fn class_at(line: &str, at: usize, big: bool) -> Class {
    let class = line.get(at..units::next(line, at)).map_or(Class::Space, units::class);
    if big && class != Class::Space { Class::Word } else { class }
}

fn word_forward(buffer: &Buffer, from: Position, big: bool) -> Position {
    let line = buffer.line(from.line);
    let mut at = end_of_run(line, from.column, big);
    let mut number = from.line;
    loop {
        let line = buffer.line(number);
        while at < line.len() && class_at(line, at, big) == Class::Space {
            at = units::next(line, at);
        }
        if at < line.len() || number + 1 >= buffer.lines().len() {
            return Position::new(number, at);
        }
        number += 1;
        at = 0;
        if buffer.line(number).is_empty() {
            return Position::new(number, 0);
        }
    }
}

/// Returns the end of the word at `at`; at a space, `at` itself.
pub(super) fn end_of_run(line: &str, mut at: usize, big: bool) -> usize {
    let class = class_at(line, at, big);
    if class == Class::Space {
        return at;
    }
    while at < line.len() && class_at(line, at, big) == class {
        at = units::next(line, at);
    }
    at
}

fn word_backward(buffer: &Buffer, from: Position, big: bool) -> Position {
    let mut at = buffer.left(from);
    loop {
        let line = buffer.line(at.line);
        let is_empty_line = line.is_empty();
        let is_space = class_at(line, at.column, big) == Class::Space;
        if is_empty_line || !is_space || at == Position::default() {
            break;
        }
        at = buffer.left(at);
    }
    let line = buffer.line(at.line);
    let class = class_at(line, at.column, big);
    while at.column > 0 {
        let before = units::previous(line, at.column);
        if class_at(line, before, big) != class {
            break;
        }
        at.column = before;
    }
    at
}

fn word_end(buffer: &Buffer, from: Position, big: bool) -> Position {
    let end = buffer.end();
    let mut at = buffer.right(from);
    while at < end && class_at(buffer.line(at.line), at.column, big) == Class::Space {
        at = buffer.right(at);
    }
    let line = buffer.line(at.line);
    let run_end = end_of_run(line, at.column, big);
    Position::new(at.line, units::previous(line, run_end))
}

/// Returns the offset at which a search for a character in a line ends.
fn find_in_line(line: &str, from: usize, find: Find, times: usize) -> Option<usize> {
    let mut at = from;
    // A search that stopped beside the character would find it again.
    if find.till {
        at = if find.forward { units::next(line, at) } else { units::previous(line, at) };
        let beside = if find.forward { at } else { units::previous(line, from) };
        if !is_at(line, beside, find.target) {
            at = from;
        }
    }
    for _ in 0..times {
        loop {
            let next = match find.forward {
                true => units::next(line, at),
                false => units::previous(line, at),
            };
            if next == at || next >= line.len() {
                return None;
            }
            at = next;
            if is_at(line, at, find.target) {
                break;
            }
        }
    }
    Some(match (find.till, find.forward) {
        (false, _) => at,
        (true, true) => units::previous(line, at),
        (true, false) => units::next(line, at),
    })
}

fn is_at(line: &str, at: usize, target: char) -> bool {
    line.get(at..).is_some_and(|rest| rest.starts_with(target))
}
