//! Text with a caret, undo and a kill ring: what the editor, the input line and vim mode change.

pub(crate) mod keys;
mod kill_ring;
pub(crate) mod layout;
pub(crate) mod paste;
pub(crate) mod text;
mod undo;
pub(crate) mod units;

use std::ops::Range;
use std::path::{Path, PathBuf};

use kill_ring::{KillRing, Side};
use layout::Layout;
use paste::Pastes;
pub use text::Position;
use text::Text;
use undo::{Edit, Group, Undo};

/// The command before, as far as the next one depends on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Other,
    Typed,
    Killed,
    Yanked(Range<Position>),
}

/// A text that is edited.
#[derive(Debug, Clone)]
pub(crate) struct Buffer {
    pub(crate) text: Text,
    pub(crate) caret: Position,
    pub(crate) pastes: Pastes,
    pub(crate) layout: Layout,
    /// The column of the screen that vertical movement returns to.
    pub(crate) goal: Option<usize>,
    undo: Undo,
    kills: KillRing,
    last: Last,
}

impl Buffer {
    pub(crate) fn new() -> Self {
        Self {
            text: Text::new(),
            caret: Position::default(),
            pastes: Pastes::default(),
            layout: Layout::new(),
            goal: None,
            undo: Undo::default(),
            kills: KillRing::default(),
            last: Last::Other,
        }
    }

    pub(crate) fn lines(&self) -> &[String] {
        self.text.lines()
    }

    pub(crate) fn line(&self, line: usize) -> &str {
        self.text.line(line)
    }

    pub(crate) fn caret(&self) -> Position {
        self.caret
    }

    pub(crate) fn end(&self) -> Position {
        self.text.end()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the nearest position that exists at or before `position`.
    pub(crate) fn clamp(&self, position: Position) -> Position {
        self.text.clamp(position)
    }

    pub(crate) fn slice(&self, range: &Range<Position>) -> String {
        self.text.slice(range)
    }

    /// Returns the text with markers, as [`Buffer::replace`] takes it.
    pub(crate) fn raw(&self) -> String {
        self.text.lines().join("\n")
    }

    /// Returns the text with long pastes in place of their markers.
    pub(crate) fn expanded(&self) -> String {
        self.pastes.expanded(&self.raw())
    }

    /// Returns the text with the labels of long pastes.
    pub(crate) fn displayed(&self) -> String {
        self.pastes.displayed(&self.raw())
    }

    /// Returns the line of the caret before it.
    pub(crate) fn before_caret(&self) -> &str {
        &self.line(self.caret.line)[..self.caret.column]
    }

    /// Returns the line of the caret after it.
    pub(crate) fn after_caret(&self) -> &str {
        &self.line(self.caret.line)[self.caret.column..]
    }

    /// Moves the caret to a place. Ends what repeated commands extend.
    pub(crate) fn move_to(&mut self, position: Position) {
        self.caret = self.text.clamp(position);
        self.goal = None;
        self.last = Last::Other;
    }

    /// Moves the caret from the end of a line onto its last unit; vertical movement still returns
    /// to its column.
    pub(crate) fn step_back_from_line_end(&mut self) {
        if self.caret.column > 0 && self.after_caret().is_empty() {
            self.caret = self.left(self.caret);
        }
    }

    /// Replaces a range by a text without control characters; the caret stands after it. Returns
    /// the range of the new text.
    pub(crate) fn replace(&mut self, range: Range<Position>, new: &str) -> Range<Position> {
        self.last = Last::Other;
        self.edit(range, new, false)
    }

    /// Runs several edits that are taken back together.
    pub(crate) fn grouped<T>(&mut self, edits: impl FnOnce(&mut Self) -> T) -> T {
        self.undo.begin();
        let result = edits(self);
        self.undo.end();
        result
    }

    /// Begins edits that are taken back together, until [`Buffer::end_group`].
    pub(crate) fn begin_group(&mut self) {
        self.undo.begin();
    }

    /// Ends a group of edits.
    pub(crate) fn end_group(&mut self) {
        self.undo.end();
    }

    fn edit(&mut self, range: Range<Position>, new: &str, merge: bool) -> Range<Position> {
        if range.start == range.end && new.is_empty() {
            return range;
        }
        let caret = self.caret;
        let inverse = self.apply(range, new);
        let range = inverse.range.clone();
        self.undo.record(inverse, caret, merge);
        range
    }

    /// Changes the text and everything that is derived from it. Returns the inverse.
    fn apply(&mut self, range: Range<Position>, new: &str) -> Edit {
        let start = self.text.clamp(range.start);
        let end = self.text.clamp(range.end).max(start);
        let replaced = self.text.replace(&(start..end), new);
        let labels_changed = self.pastes.replaced(&replaced.removed, new);
        if labels_changed {
            self.layout.refresh(self.text.lines(), &self.pastes);
        } else {
            let old = start.line..end.line + 1;
            let new = start.line..replaced.end.line + 1;
            self.layout.replaced(old, new, self.text.lines(), &self.pastes);
        }
        // The new text may have joined the character after it, as the halves of a flag do.
        let line = self.text.line(replaced.end.line);
        let column = match replaced.end.column {
            0 => 0,
            at => units::next(line, units::previous(line, at)).max(at),
        };
        self.caret = Position { column, ..replaced.end };
        self.goal = None;
        Edit { range: start..replaced.end, text: replaced.removed }
    }

    /// Replaces everything; the caret stands at the end. Taken back on its own.
    pub(crate) fn set_raw(&mut self, text: &str) {
        self.undo.split();
        self.replace(Position::default()..self.end(), text);
        self.undo.split();
    }

    /// Inserts a typed text. Characters of a word are taken back together.
    pub(crate) fn type_text(&mut self, text: &str) {
        let text = paste::clean(text);
        let is_space = text.chars().all(char::is_whitespace);
        let merge = self.last == Last::Typed && !is_space;
        self.edit(self.caret..self.caret, &text, merge);
        self.last = Last::Typed;
    }

    /// Inserts a text that is taken back as a whole. Returns its range.
    pub(crate) fn insert(&mut self, text: &str) -> Range<Position> {
        self.replace(self.caret..self.caret, text)
    }

    /// Inserts a pasted text, or the marker of a long one.
    pub(crate) fn paste(&mut self, text: &str) {
        let mut text = paste::clean_paste(text);
        let after_word = self.before_caret().chars().next_back();
        if text.starts_with(['/', '~', '.'])
            && after_word.is_some_and(|before| before.is_alphanumeric() || before == '_')
        {
            text.to_mut().insert(0, ' ');
        }
        let marker = self.pastes.keep(&text);
        self.insert(marker.as_deref().unwrap_or(&text));
    }

    /// Inserts the marker of an attached image, and a space.
    pub(crate) fn attach(&mut self, text: &str, path: &Path) {
        let marker = self.pastes.attach(&paste::clean_paste(text), path);
        let shown = marker.as_deref().unwrap_or(text);
        self.insert(&format!("{shown} "));
    }

    /// Returns the attached images of the text, in order.
    pub(crate) fn images(&self) -> Vec<PathBuf> {
        self.lines().iter().flat_map(|line| self.pastes.images(line)).collect()
    }

    /// Removes a range. Returns false if it is empty.
    pub(crate) fn delete(&mut self, range: Range<Position>) -> bool {
        if range.is_empty() {
            return false;
        }
        self.replace(range, "");
        true
    }

    /// Removes a range and keeps its text in the kill ring.
    fn kill(&mut self, range: Range<Position>, side: Side) -> bool {
        if range.is_empty() {
            return false;
        }
        let join = self.last == Last::Killed;
        let text = self.text.slice(&range);
        self.kills.push(&text, side, join);
        self.replace(range, "");
        self.last = Last::Killed;
        true
    }

    pub(crate) fn delete_backward(&mut self) -> bool {
        self.delete(self.left(self.caret)..self.caret)
    }

    pub(crate) fn delete_forward(&mut self) -> bool {
        self.delete(self.caret..self.right(self.caret))
    }

    pub(crate) fn kill_word_backward(&mut self) -> bool {
        self.kill(self.word_left(self.caret)..self.caret, Side::Before)
    }

    pub(crate) fn kill_word_forward(&mut self) -> bool {
        self.kill(self.caret..self.word_right(self.caret), Side::After)
    }

    /// Cuts to the start of the line, or the line break before it.
    pub(crate) fn kill_to_line_start(&mut self) -> bool {
        let start = match self.caret.column {
            0 => self.left(self.caret),
            _ => Position::new(self.caret.line, 0),
        };
        self.kill(start..self.caret, Side::Before)
    }

    /// Cuts to the end of the line, or the line break after it.
    pub(crate) fn kill_to_line_end(&mut self) -> bool {
        let end = match self.after_caret() {
            "" => self.right(self.caret),
            _ => self.line_end(self.caret.line),
        };
        self.kill(self.caret..end, Side::After)
    }

    /// Inserts the text that was cut last.
    pub(crate) fn yank(&mut self) -> bool {
        let Some(text) = self.kills.newest().map(str::to_owned) else { return false };
        self.last = Last::Yanked(self.insert(&text));
        true
    }

    /// Replaces the text that was just yanked by the one that was cut before it.
    pub(crate) fn yank_pop(&mut self) -> bool {
        let Last::Yanked(range) = self.last.clone() else { return false };
        if !self.kills.rotate() {
            return false;
        }
        let text = self.kills.newest().unwrap_or_default().to_owned();
        self.last = Last::Yanked(self.replace(range, &text));
        true
    }

    /// Takes the last edits back.
    pub(crate) fn undo(&mut self) -> bool {
        let Some(group) = self.undo.pop_done() else { return false };
        let inverse = self.apply_group(group);
        self.undo.push_undone(inverse);
        true
    }

    /// Makes the last edits that were taken back again.
    pub(crate) fn redo(&mut self) -> bool {
        let Some(group) = self.undo.pop_undone() else { return false };
        let inverse = self.apply_group(group);
        self.undo.push_done(inverse);
        true
    }

    fn apply_group(&mut self, group: Group) -> Group {
        self.last = Last::Other;
        let caret = self.caret;
        let edits = group.edits.into_iter().rev();
        let edits = edits.map(|edit| self.apply(edit.range, &edit.text)).collect();
        self.caret = self.text.clamp(group.caret);
        Group { edits, caret }
    }

    /// Empties the text and forgets its edits; `texts` are kept elsewhere and may have markers.
    pub(crate) fn reset(&mut self, texts: &[String]) {
        self.apply(Position::default()..self.end(), "");
        self.undo.clear();
        self.last = Last::Other;
        self.pastes.retain(self.kills.texts().chain(texts.iter().map(String::as_str)));
    }

    /// Returns the place one unit before; at the start of a line, the end of the line above.
    pub(crate) fn left(&self, from: Position) -> Position {
        if from.column > 0 {
            return Position::new(from.line, units::previous(self.line(from.line), from.column));
        }
        match from.line.checked_sub(1) {
            Some(line) => self.line_end(line),
            None => from,
        }
    }

    /// Returns the place one unit after; at the end of a line, the start of the line below.
    pub(crate) fn right(&self, from: Position) -> Position {
        if from.column < self.line(from.line).len() {
            return Position::new(from.line, units::next(self.line(from.line), from.column));
        }
        if from.line + 1 < self.lines().len() { Position::new(from.line + 1, 0) } else { from }
    }

    /// Returns the start of the word before; at the start of a line, the end of the line above.
    pub(crate) fn word_left(&self, from: Position) -> Position {
        match from.column {
            0 => self.left(from),
            at => Position::new(from.line, units::word_start(self.line(from.line), at)),
        }
    }

    /// Returns the end of the word after; at the end of a line, the start of the line below.
    pub(crate) fn word_right(&self, from: Position) -> Position {
        let line = self.line(from.line);
        if from.column == line.len() {
            return self.right(from);
        }
        Position::new(from.line, units::word_end(line, from.column))
    }

    pub(crate) fn line_end(&self, line: usize) -> Position {
        Position::new(line, self.line(line).len())
    }

    /// Returns the next place of a character after `from`, in any line.
    pub(crate) fn find_forward(&self, from: Position, target: &str) -> Option<Position> {
        let start = self.right(from);
        (start.line..self.lines().len()).find_map(|number| {
            let first = if number == start.line { start.column } else { 0 };
            // The caret may stand at the end of its line: then the search begins below.
            if number == from.line && start == from {
                return None;
            }
            let line = self.line(number).get(first..)?;
            let column = units::units(line).find(|(_, unit)| *unit == target)?.0 + first;
            Some(Position::new(number, column))
        })
    }

    /// Returns the last place of a character before `from`, in any line.
    pub(crate) fn find_backward(&self, from: Position, target: &str) -> Option<Position> {
        (0..=from.line).rev().find_map(|number| {
            let line = self.line(number);
            let end = if number == from.line { from.column } else { line.len() };
            let found = units::units(&line[..end]).filter(|(_, unit)| *unit == target).last()?;
            Some(Position::new(number, found.0))
        })
    }
}
