//! Undo and redo: groups of replacements that are taken back together.

use std::ops::Range;

use super::text::Position;

/// A replacement that takes another one back.
#[derive(Debug, Clone)]
pub(crate) struct Edit {
    pub(crate) range: Range<Position>,
    pub(crate) text: String,
}

/// Edits that are taken back together, the last one first.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub(crate) edits: Vec<Edit>,
    /// The caret before the first edit.
    pub(crate) caret: Position,
}

/// The edits of a text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Undo {
    done: Vec<Group>,
    undone: Vec<Group>,
    /// Number of groups that were begun and not ended.
    depth: usize,
    /// The group that was begun has an edit.
    has_edit: bool,
}

impl Undo {
    /// Begins a group: until [`Undo::end`], all edits are taken back together.
    pub(crate) fn begin(&mut self) {
        if self.depth == 0 {
            self.has_edit = false;
        }
        self.depth += 1;
    }

    pub(crate) fn end(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Separates the edits of an open group: those that follow are taken back on their own.
    pub(crate) fn split(&mut self) {
        self.has_edit = false;
    }

    /// Records the inverse of an edit. With `merge` it is taken back with the edit before.
    pub(crate) fn record(&mut self, edit: Edit, caret: Position, merge: bool) {
        self.undone.clear();
        let merge = if self.depth > 0 { self.has_edit } else { merge };
        self.has_edit = true;
        match self.done.last_mut() {
            Some(group) if merge => match group.edits.last_mut() {
                // Typing extends the text that the edit before inserted.
                Some(last)
                    if last.text.is_empty()
                        && edit.text.is_empty()
                        && last.range.end == edit.range.start =>
                {
                    last.range.end = edit.range.end;
                }
                _ => group.edits.push(edit),
            },
            _ => self.done.push(Group { edits: vec![edit], caret }),
        }
    }

    pub(crate) fn pop_done(&mut self) -> Option<Group> {
        self.split();
        self.done.pop()
    }

    pub(crate) fn pop_undone(&mut self) -> Option<Group> {
        self.undone.pop()
    }

    pub(crate) fn push_done(&mut self, group: Group) {
        self.done.push(group);
    }

    pub(crate) fn push_undone(&mut self, group: Group) {
        self.undone.push(group);
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}
