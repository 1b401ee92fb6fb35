//! Vim mode: a modal layer over the commands of an editor or an input line.
//!
//! In normal and visual mode the keys that type text are commands; everything else passes. Keys are
//! collected until they are a command (`parse`), which is then run on the buffer.
//!
//! Supported are counts and
//! - motions: `h j k l w W b B e E 0 ^ $ gg G f F t T ; ,`; `j` and `k` move by rows of the screen,
//!   and through the history at the last and first one;
//! - operators with motions, lines and objects: `d c y`, `dd cc yy`, `iw aw iW aW`, quotes and
//!   brackets (`i" a( ib i{`);
//! - `x X s S D C Y p P r ~ J u ctrl+r .`, `i a I A o O`, `v V` with `o`.
//!
//! There is one register, which is not the kill ring. Changes of a selection are not repeated by
//! `.`.

mod change;
mod motion;
mod object;
mod parse;

use std::ops::Range;

use crate::buffer::Buffer;
use crate::buffer::Position;
use crate::buffer::keys::typed;
use crate::input::{Key, KeyCode, Modifiers};

use motion::{Reached, reach};
use parse::{Action, Command, Find, Motion, Parsed, parse};

/// The mode of an editor with vim keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VimMode {
    /// Keys are commands.
    Normal,
    /// Keys insert text.
    Insert,
    /// Keys are commands on selected characters.
    Visual,
    /// Keys are commands on selected lines.
    VisualLine,
}

impl VimMode {
    /// Returns the name to show.
    pub fn label(self) -> &'static str {
        match self {
            Self::Normal => "NORMAL",
            Self::Insert => "INSERT",
            Self::Visual => "VISUAL",
            Self::VisualLine => "V-LINE",
        }
    }

    fn is_visual(self) -> bool {
        matches!(self, Self::Visual | Self::VisualLine)
    }
}

/// The state of the modal layer.
#[derive(Debug, Clone)]
pub(crate) struct Vim {
    mode: VimMode,
    /// The keys of a command that is not complete.
    keys: String,
    /// The other end of the selection.
    anchor: Position,
    register: Register,
    /// The last search for a character.
    find: Option<Find>,
    /// The text that is being inserted.
    insertion: Insertion,
    /// The last command that changed the text.
    last: Change,
    is_single_line: bool,
}

/// A text that was deleted or copied.
#[derive(Debug, Clone, Default)]
struct Register {
    text: String,
    /// The text consists of whole lines.
    is_lines: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Insertion {
    start: Position,
    /// How often the text is inserted in the end.
    count: usize,
}

/// A command that can be repeated.
#[derive(Debug, Clone, Default)]
struct Change {
    keys: String,
    inserted: String,
}

/// The effect of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The key is none of vim's.
    Pass,
    /// The text is the same.
    Handled,
    /// The text changed.
    Changed,
    /// The caret moves by rows of the screen.
    Rows(isize),
}

impl Vim {
    /// Creates the layer in insert mode.
    pub(crate) fn new(buffer: &mut Buffer, is_single_line: bool) -> Self {
        let mut vim = Self {
            mode: VimMode::Normal,
            keys: String::new(),
            anchor: Position::default(),
            register: Register::default(),
            find: None,
            insertion: Insertion::default(),
            last: Change::default(),
            is_single_line,
        };
        vim.reset(buffer);
        vim
    }

    pub(crate) fn mode(&self) -> VimMode {
        self.mode
    }

    /// Returns to insert mode, for a new text.
    pub(crate) fn reset(&mut self, buffer: &mut Buffer) {
        self.keys.clear();
        self.begin_insert(buffer, 1);
    }

    /// Returns the text that is kept for later, with markers.
    pub(crate) fn register(&self) -> &str {
        &self.register.text
    }

    /// Returns true if Escape has a meaning: it ends a mode or an incomplete command.
    pub(crate) fn wants_escape(&self) -> bool {
        self.mode != VimMode::Normal || !self.keys.is_empty()
    }

    /// Returns the selected text.
    pub(crate) fn selection(&self, buffer: &Buffer) -> Option<Range<Position>> {
        let caret = buffer.caret();
        // Keys that pass may have changed the text.
        let anchor = buffer.clamp(self.anchor);
        let (start, end) = (anchor.min(caret), anchor.max(caret));
        match self.mode {
            VimMode::Visual => Some(start..buffer.right(end)),
            VimMode::VisualLine => Some(Position::new(start.line, 0)..buffer.line_end(end.line)),
            _ => None,
        }
    }

    /// Handles a key.
    pub(crate) fn press(&mut self, key: &Key, buffer: &mut Buffer) -> Outcome {
        let is_escape = key.code == KeyCode::Escape || key.is("ctrl+[");
        if self.mode == VimMode::Insert {
            if !is_escape {
                return Outcome::Pass;
            }
            return match self.leave_insert(buffer) {
                true => Outcome::Changed,
                false => Outcome::Handled,
            };
        }
        if is_escape {
            let was_wanted = self.wants_escape();
            self.keys.clear();
            self.mode = VimMode::Normal;
            return if was_wanted { Outcome::Handled } else { Outcome::Pass };
        }
        if key.is("ctrl+r") {
            self.keys.clear();
            return if buffer.redo() { Outcome::Changed } else { Outcome::Handled };
        }
        let is_backspace = key.code == KeyCode::Backspace && key.modifiers == Modifiers::NONE;
        let text = if is_backspace { Some("h") } else { typed(key) };
        let Some(text) = text else {
            self.keys.clear();
            return Outcome::Pass;
        };
        self.keys.push_str(text);
        match parse(&self.keys, self.mode.is_visual()) {
            Parsed::Incomplete => Outcome::Handled,
            Parsed::Invalid => {
                self.keys.clear();
                Outcome::Handled
            }
            Parsed::Command(command) => {
                let keys = std::mem::take(&mut self.keys);
                self.run(command, &keys, buffer)
            }
        }
    }

    /// Keeps the caret on a character in normal mode.
    pub(crate) fn settle(&self, buffer: &mut Buffer) {
        if self.mode == VimMode::Normal {
            buffer.step_back_from_line_end();
        }
    }

    fn run(&mut self, command: Command, keys: &str, buffer: &mut Buffer) -> Outcome {
        let Command { count, action } = command;
        match action {
            Action::Move(motion) => return self.go(motion, count, buffer),
            Action::Select(object) => {
                if let Some(range) = object::range(buffer, buffer.caret(), object) {
                    self.anchor = range.start;
                    buffer.move_to(buffer.left(range.end).max(range.start));
                }
                return Outcome::Handled;
            }
            Action::Visual { lines } => {
                let mode = if lines { VimMode::VisualLine } else { VimMode::Visual };
                if !self.mode.is_visual() {
                    self.anchor = buffer.caret();
                }
                self.mode = if self.mode == mode { VimMode::Normal } else { mode };
                return Outcome::Handled;
            }
            Action::SwapEnds => {
                let caret = buffer.caret();
                buffer.move_to(self.anchor);
                self.anchor = caret;
                return Outcome::Handled;
            }
            Action::Undo => {
                let undone = (0..count.unwrap_or(1)).take_while(|_| buffer.undo()).count();
                return if undone > 0 { Outcome::Changed } else { Outcome::Handled };
            }
            Action::Repeat => return self.repeat(count, buffer),
            _ => {}
        }
        // A change of a selection is not repeated: the text that it would be made on is unknown.
        if !self.mode.is_visual() && !matches!(action, Action::Operate(parse::Operator::Yank, _)) {
            self.last = Change { keys: keys.to_owned(), inserted: String::new() };
        }
        self.change(action, count, buffer)
    }

    /// Moves the caret.
    fn go(&mut self, motion: Motion, count: Option<usize>, buffer: &mut Buffer) -> Outcome {
        let rows = isize::try_from(count.unwrap_or(1)).unwrap_or(isize::MAX);
        let rows = match motion {
            Motion::Up => -rows,
            Motion::Down => rows,
            _ => {
                if let Some(reached) = self.reach(motion, count, buffer) {
                    buffer.move_to(reached.to);
                }
                return Outcome::Handled;
            }
        };
        if self.mode.is_visual() {
            buffer.move_rows(rows);
            return Outcome::Handled;
        }
        Outcome::Rows(rows)
    }

    /// Returns the end of a motion from the caret; remembers searches.
    fn reach(&mut self, motion: Motion, count: Option<usize>, buffer: &Buffer) -> Option<Reached> {
        let motion = match motion {
            Motion::Find(find) => {
                self.find = Some(find);
                motion
            }
            Motion::RepeatFind { reverse } => {
                let find = self.find?;
                Motion::Find(Find { forward: find.forward != reverse, ..find })
            }
            _ => motion,
        };
        reach(buffer, buffer.caret(), motion, count)
    }

    /// Repeats the last change, with another count if one is given.
    fn repeat(&mut self, count: Option<usize>, buffer: &mut Buffer) -> Outcome {
        let last = self.last.clone();
        let Parsed::Command(command) = parse(&last.keys, false) else { return Outcome::Handled };
        buffer.grouped(|buffer| {
            let outcome = self.change(command.action, count.or(command.count), buffer);
            if self.mode == VimMode::Insert {
                buffer.insert(&last.inserted);
                self.leave_insert(buffer);
            }
            self.last = last;
            outcome
        })
    }

    /// Begins to insert text; all of it is taken back together.
    fn begin_insert(&mut self, buffer: &mut Buffer, count: usize) {
        buffer.begin_group();
        self.continue_insert(buffer, count);
    }

    /// Begins to insert text in a group of edits that was begun.
    fn continue_insert(&mut self, buffer: &Buffer, count: usize) {
        self.mode = VimMode::Insert;
        self.insertion = Insertion { start: buffer.caret(), count };
    }

    /// Returns to normal mode. Returns true if a count inserted the text again.
    fn leave_insert(&mut self, buffer: &mut Buffer) -> bool {
        let inserted = buffer.slice(&(self.insertion.start..buffer.caret()));
        let again = if inserted.is_empty() { 0 } else { self.insertion.count.saturating_sub(1) };
        for _ in 0..again {
            buffer.insert(&inserted);
        }
        self.last.inserted = inserted;
        buffer.end_group();
        self.mode = VimMode::Normal;
        let caret = buffer.caret();
        if caret.column > 0 {
            buffer.move_to(buffer.left(caret));
        }
        again > 0
    }
}
