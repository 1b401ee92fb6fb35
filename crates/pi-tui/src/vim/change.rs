//! Commands of vim that change or copy text.

use std::ops::Range;

use crate::buffer::Buffer;
use crate::buffer::Position;
use crate::buffer::units::{self, Class};

use super::motion::{Span, end_of_run, first_non_blank};
use super::object;
use super::parse::{Action, InsertAt, Motion, Operator, Target};
use super::{Outcome, Register, Vim, VimMode};

/// The text that an operator works on.
enum Extent {
    Characters(Range<Position>),
    /// The first and the last line.
    Lines(usize, usize),
}

impl Vim {
    pub(super) fn change(
        &mut self,
        action: Action,
        count: Option<usize>,
        buffer: &mut Buffer,
    ) -> Outcome {
        let times = count.unwrap_or(1);
        let changed = match action {
            Action::Operate(operator, target) => match self.extent(operator, target, count, buffer)
            {
                Some(extent) => self.operate(operator, extent, buffer),
                None => false,
            },
            Action::Insert(place) => {
                self.insert_at(place, times, buffer);
                true
            }
            Action::Put { before } => self.put(before, times, buffer),
            Action::Replace(character) => self.replace(character, times, buffer),
            Action::ToggleCase => self.toggle_case(times, buffer),
            Action::Join => self.join(times, buffer),
            _ => false,
        };
        if changed { Outcome::Changed } else { Outcome::Handled }
    }

    /// Returns the text that an operator works on, or `None` if there is no such text.
    fn extent(
        &mut self,
        operator: Operator,
        target: Target,
        count: Option<usize>,
        buffer: &Buffer,
    ) -> Option<Extent> {
        let from = buffer.caret();
        let last_line = buffer.lines().len() - 1;
        match target {
            Target::Selection => {
                let range = self.selection(buffer)?;
                let is_lines = self.mode == VimMode::VisualLine;
                self.mode = VimMode::Normal;
                Some(match is_lines {
                    true => Extent::Lines(range.start.line, range.end.line),
                    false => Extent::Characters(range),
                })
            }
            Target::Lines => {
                let last = (from.line + count.unwrap_or(1) - 1).min(last_line);
                Some(Extent::Lines(from.line, last))
            }
            Target::Object(object) => object::range(buffer, from, object).map(Extent::Characters),
            Target::Motion(Motion::WordForward { big }) => {
                Some(Extent::Characters(self.words(operator, big, count, buffer)))
            }
            Target::Motion(motion) => {
                let reached = self.reach(motion, count, buffer)?;
                let (start, end) = (from.min(reached.to), from.max(reached.to));
                Some(match reached.span {
                    Span::Lines => Extent::Lines(start.line, end.line),
                    Span::Exclusive => Extent::Characters(start..end),
                    Span::Inclusive => {
                        let column = units::next(buffer.line(end.line), end.column);
                        Extent::Characters(start..Position::new(end.line, column))
                    }
                })
            }
        }
    }

    /// Returns the text of a motion over words. It ends with its line, and a change leaves the
    /// spaces after the last word.
    fn words(
        &mut self,
        operator: Operator,
        big: bool,
        count: Option<usize>,
        buffer: &Buffer,
    ) -> Range<Position> {
        let from = buffer.caret();
        let line = buffer.line(from.line);
        let at_space = line
            .get(from.column..units::next(line, from.column))
            .is_none_or(|unit| units::class(unit) == Class::Space);
        if operator == Operator::Change && !at_space {
            let mut end = Position::new(from.line, end_of_run(line, from.column, big));
            if let Some(more) = count.filter(|count| *count > 1) {
                let last = buffer.left(end);
                let motion = Motion::WordEnd { big };
                if let Some(reached) = super::reach(buffer, last, motion, Some(more - 1)) {
                    end = buffer.right(reached.to);
                }
            }
            return from..end;
        }
        let motion = Motion::WordForward { big };
        let mut to = self.reach(motion, count, buffer).map_or(from, |reached| reached.to);
        if to.line > from.line && to.column <= first_non_blank(buffer.line(to.line)) {
            to = buffer.line_end(to.line - 1);
        }
        from..to.max(from)
    }

    /// Runs an operator. Returns true if the text changed.
    fn operate(&mut self, operator: Operator, extent: Extent, buffer: &mut Buffer) -> bool {
        match extent {
            Extent::Characters(range) => self.operate_on_characters(operator, range, buffer),
            Extent::Lines(first, last) => self.operate_on_lines(operator, first, last, buffer),
        }
    }

    fn operate_on_characters(
        &mut self,
        operator: Operator,
        range: Range<Position>,
        buffer: &mut Buffer,
    ) -> bool {
        if !range.is_empty() {
            self.register = Register { text: buffer.slice(&range), is_lines: false };
        }
        match operator {
            Operator::Yank => {
                buffer.move_to(range.start);
                false
            }
            Operator::Delete => buffer.delete(range),
            Operator::Change => {
                buffer.begin_group();
                buffer.move_to(range.start);
                buffer.delete(range);
                self.continue_insert(buffer, 1);
                true
            }
        }
    }

    fn operate_on_lines(
        &mut self,
        operator: Operator,
        first: usize,
        last: usize,
        buffer: &mut Buffer,
    ) -> bool {
        let content = Position::new(first, 0)..buffer.line_end(last);
        self.register = Register { text: buffer.slice(&content), is_lines: true };
        match operator {
            Operator::Yank => {
                if first < buffer.caret().line {
                    buffer.move_to(Position::new(first, buffer.caret().column));
                }
                false
            }
            Operator::Delete => {
                // With the line break after the lines, or with that before the last ones.
                let range = if last + 1 < buffer.lines().len() {
                    content.start..Position::new(last + 1, 0)
                } else if first > 0 {
                    buffer.line_end(first - 1)..content.end
                } else {
                    content
                };
                let changed = buffer.delete(range);
                let line = first.min(buffer.lines().len() - 1);
                buffer.move_to(Position::new(line, first_non_blank(buffer.line(line))));
                changed
            }
            Operator::Change => {
                buffer.begin_group();
                buffer.move_to(content.start);
                buffer.delete(content);
                self.continue_insert(buffer, 1);
                true
            }
        }
    }

    fn insert_at(&mut self, place: InsertAt, count: usize, buffer: &mut Buffer) {
        let caret = buffer.caret();
        let line = buffer.line(caret.line);
        let after = units::next(line, caret.column);
        let indent = line.len() - line.trim_start().len();
        let start = Position::new(caret.line, 0);
        let end = buffer.line_end(caret.line);
        let place = match place {
            InsertAt::Above if self.is_single_line => InsertAt::LineStart,
            InsertAt::Below if self.is_single_line => InsertAt::LineEnd,
            place => place,
        };
        buffer.begin_group();
        match place {
            InsertAt::Caret => {}
            InsertAt::After => buffer.move_to(Position::new(caret.line, after)),
            InsertAt::LineStart => buffer.move_to(Position::new(caret.line, indent)),
            InsertAt::LineEnd => buffer.move_to(end),
            InsertAt::Below => {
                buffer.replace(end..end, "\n");
            }
            InsertAt::Above => {
                buffer.replace(start..start, "\n");
                buffer.move_to(start);
            }
        }
        self.continue_insert(buffer, count);
    }

    /// Inserts the register, or replaces the selection by it.
    fn put(&mut self, before: bool, times: usize, buffer: &mut Buffer) -> bool {
        let Register { mut text, mut is_lines } = self.register.clone();
        if self.is_single_line {
            text = text.replace('\n', " ");
            is_lines = false;
        }
        if text.is_empty() {
            return false;
        }
        if let Some(range) = self.selection(buffer) {
            let over_lines = self.mode == VimMode::VisualLine;
            self.mode = VimMode::Normal;
            let replaced = buffer.slice(&range);
            let text = if is_lines && !over_lines { format!("\n{text}\n") } else { text };
            buffer.replace(range, &text);
            self.register = Register { text: replaced, is_lines: over_lines };
            return true;
        }
        let caret = buffer.caret();
        if is_lines {
            let text = vec![text; times].join("\n");
            let line = if before { caret.line } else { caret.line + 1 };
            if before {
                let start = Position::new(caret.line, 0);
                buffer.replace(start..start, &format!("{text}\n"));
            } else {
                let end = buffer.line_end(caret.line);
                buffer.replace(end..end, &format!("\n{text}"));
            }
            buffer.move_to(Position::new(line, first_non_blank(buffer.line(line))));
            return true;
        }
        let column = match before {
            true => caret.column,
            false => units::next(buffer.line(caret.line), caret.column),
        };
        let at = Position::new(caret.line, column);
        let range = buffer.replace(at..at, &text.repeat(times));
        // On the last character, or at the start of several lines.
        let target = if text.contains('\n') { range.start } else { buffer.left(range.end) };
        buffer.move_to(target);
        true
    }

    /// Replaces characters by one.
    fn replace(&mut self, character: char, times: usize, buffer: &mut Buffer) -> bool {
        if let Some(range) = self.selection(buffer) {
            self.mode = VimMode::Normal;
            let text = buffer.slice(&range);
            let lines = text
                .split('\n')
                .map(|line| units::units(line).map(|_| character).collect::<String>());
            let new = lines.collect::<Vec<_>>().join("\n");
            let start = range.start;
            buffer.replace(range, &new);
            buffer.move_to(start);
            return true;
        }
        let caret = buffer.caret();
        let line = buffer.line(caret.line);
        let mut end = caret.column;
        for _ in 0..times {
            if end >= line.len() {
                return false;
            }
            end = units::next(line, end);
        }
        let new: String = std::iter::repeat_n(character, times).collect();
        let range = buffer.replace(caret..Position::new(caret.line, end), &new);
        buffer.move_to(buffer.left(range.end));
        true
    }

    fn toggle_case(&mut self, times: usize, buffer: &mut Buffer) -> bool {
        let selection = self.selection(buffer);
        let caret = buffer.caret();
        let range = selection.clone().unwrap_or_else(|| {
            let line = buffer.line(caret.line);
            let end = (0..times).fold(caret.column, |at, _| units::next(line, at));
            caret..Position::new(caret.line, end)
        });
        if range.is_empty() {
            return false;
        }
        self.mode = VimMode::Normal;
        let toggled = buffer.slice(&range).chars().fold(String::new(), |mut text, character| {
            match character.is_uppercase() {
                true => text.extend(character.to_lowercase()),
                false => text.extend(character.to_uppercase()),
            }
            text
        });
        let start = range.start;
        buffer.replace(range, &toggled);
        if selection.is_some() {
            buffer.move_to(start);
        }
        true
    }

    /// Joins lines with one space between them.
    fn join(&mut self, times: usize, buffer: &mut Buffer) -> bool {
        let (first, joints) = match self.selection(buffer) {
            Some(range) => (range.start.line, (range.end.line - range.start.line).max(1)),
            None => (buffer.caret().line, times.max(2) - 1),
        };
        self.mode = VimMode::Normal;
        buffer.grouped(|buffer| {
            let mut changed = false;
            for _ in 0..joints {
                if first + 1 >= buffer.lines().len() {
                    break;
                }
                let next = buffer.line(first + 1);
                let content = next.trim_start();
                let joint = Position::new(first + 1, next.len() - content.len());
                let end = buffer.line_end(first);
                let needs_space = !content.is_empty()
                    && !content.starts_with(')')
                    && !buffer.line(first).ends_with(' ')
                    && end.column > 0;
                buffer.replace(end..joint, if needs_space { " " } else { "" });
                buffer.move_to(end);
                changed = true;
            }
            changed
        })
    }
}
