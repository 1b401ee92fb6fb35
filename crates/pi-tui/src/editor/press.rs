//! Keys of the editor.

use crate::buffer::keys::{self, Command};
use crate::buffer::{Position, paste};
use crate::completion::Completer;
use crate::input::{Key, KeyCode, Keymap, Modifiers};
use crate::vim::Outcome;

use super::history::Newer;
use super::{Editor, EditorEvent};

impl Editor {
    pub(super) fn press(
        &mut self,
        key: &Key,
        keymap: &Keymap,
        completer: &mut dyn Completer,
    ) -> EditorEvent {
        let command = keys::command(key, keymap);
        if let Some(forward) = self.jump.take() {
            match command {
                // The key that began the jump cancels it.
                Some(Command::JumpForward | Command::JumpBackward) => return EditorEvent::Handled,
                _ => match keys::typed(key) {
                    Some(target) => return self.jump_to(target, forward),
                    None if key.code == KeyCode::Escape => return EditorEvent::Handled,
                    None => {}
                },
            }
        }
        if command != Some(Command::Undo)
            && let Some(event) = self.press_in_menu(key, keymap, completer)
        {
            return event;
        }
        if let Some(event) = self.press_in_vim(key) {
            return event;
        }
        let event = self.press_plain(command, key, keymap, completer);
        self.settle();
        event
    }

    fn press_plain(
        &mut self,
        command: Option<Command>,
        key: &Key,
        keymap: &Keymap,
        completer: &mut dyn Completer,
    ) -> EditorEvent {
        match command {
            Some(command) => self.run(command, key, keymap, completer),
            None => match keys::typed(key) {
                Some(text) => self.type_text(text, completer),
                None => EditorEvent::Ignored,
            },
        }
    }

    /// Handles a key of vim mode. Returns `None` if it is none.
    fn press_in_vim(&mut self, key: &Key) -> Option<EditorEvent> {
        let vim = self.vim.as_mut()?;
        let event = match vim.press(key, &mut self.buffer) {
            Outcome::Pass => return None,
            Outcome::Handled => EditorEvent::Handled,
            Outcome::Changed => {
                self.history.leave();
                EditorEvent::Changed
            }
            Outcome::Rows(rows) => self.move_in_history(rows),
        };
        self.settle();
        self.close_menu();
        Some(event)
    }

    pub(super) fn settle(&mut self) {
        if let Some(vim) = &self.vim {
            vim.settle(&mut self.buffer);
        }
    }

    /// Moves the caret by rows, at the first and the last row through the history.
    fn move_in_history(&mut self, rows: isize) -> EditorEvent {
        if rows < 0 && self.buffer.is_in_first_row() {
            let is_free = self.buffer.is_empty() || self.history.is_browsing();
            return if is_free { self.older() } else { EditorEvent::Handled };
        }
        if rows > 0 && self.buffer.is_in_last_row() {
            return self.newer();
        }
        self.buffer.move_rows(rows);
        EditorEvent::Handled
    }

    fn type_text(&mut self, text: &str, completer: &mut dyn Completer) -> EditorEvent {
        self.history.leave();
        self.buffer.type_text(text);
        // A closed menu is not opened by a space: the user may have closed it.
        if self.menu.is_some() || !text.chars().all(char::is_whitespace) {
            self.update_menu(completer);
        }
        EditorEvent::Changed
    }

    fn run(
        &mut self,
        command: Command,
        key: &Key,
        keymap: &Keymap,
        completer: &mut dyn Completer,
    ) -> EditorEvent {
        match command {
            Command::NewLine => self.new_line(key, keymap),
            Command::Submit => self.enter(),
            Command::Tab => self.complete_word(completer),
            Command::Undo => self.edit(completer, |editor| editor.buffer.undo()),
            Command::DeleteBackward => {
                self.edit(completer, |editor| editor.buffer.delete_backward())
            }
            Command::DeleteForward => self.edit(completer, |editor| editor.buffer.delete_forward()),
            Command::DeleteWordBackward => {
                self.edit(completer, |editor| editor.buffer.kill_word_backward())
            }
            Command::DeleteWordForward => {
                self.edit(completer, |editor| editor.buffer.kill_word_forward())
            }
            Command::DeleteToLineStart => {
                self.edit(completer, |editor| editor.buffer.kill_to_line_start())
            }
            Command::DeleteToLineEnd => {
                self.edit(completer, |editor| editor.buffer.kill_to_line_end())
            }
            Command::Yank => self.edit(completer, |editor| editor.buffer.yank()),
            Command::YankPop => self.edit(completer, |editor| editor.buffer.yank_pop()),
            movement => self.go(movement, completer),
        }
    }

    /// Runs an edit; the menu follows the text.
    fn edit(
        &mut self,
        completer: &mut dyn Completer,
        edit: impl FnOnce(&mut Self) -> bool,
    ) -> EditorEvent {
        if !edit(self) {
            return EditorEvent::Handled;
        }
        self.history.leave();
        self.update_menu(completer);
        EditorEvent::Changed
    }

    fn go(&mut self, movement: Command, completer: &mut dyn Completer) -> EditorEvent {
        let caret = self.buffer.caret();
        let page = isize::try_from(self.page).unwrap_or(isize::MAX);
        match movement {
            Command::Left => self.buffer.move_to(self.buffer.left(caret)),
            Command::Right => self.buffer.move_to(self.buffer.right(caret)),
            Command::WordLeft => self.buffer.move_to(self.buffer.word_left(caret)),
            Command::WordRight => self.buffer.move_to(self.buffer.word_right(caret)),
            Command::LineStart => self.buffer.move_to(Position::new(caret.line, 0)),
            Command::LineEnd => self.buffer.move_to(self.buffer.line_end(caret.line)),
            Command::PageUp => self.buffer.move_rows(-page),
            Command::PageDown => self.buffer.move_rows(page),
            Command::Up => return self.up(),
            Command::Down => return self.down(),
            Command::HistoryPrevious => return self.older(),
            Command::HistoryNext => return self.newer(),
            Command::JumpForward => self.jump = Some(true),
            Command::JumpBackward => self.jump = Some(false),
            _ => return EditorEvent::Ignored,
        }
        if self.menu.is_some() && self.jump.is_none() {
            self.update_menu(completer);
        }
        EditorEvent::Handled
    }

    fn up(&mut self) -> EditorEvent {
        if !self.buffer.is_in_first_row() {
            self.buffer.move_rows(-1);
            return EditorEvent::Handled;
        }
        let at_start = self.buffer.caret() == Position::default();
        if at_start || self.history.is_browsing() {
            return self.older();
        }
        self.buffer.move_to(Position::default());
        EditorEvent::Handled
    }

    fn down(&mut self) -> EditorEvent {
        if !self.buffer.is_in_last_row() {
            self.buffer.move_rows(1);
            return EditorEvent::Handled;
        }
        if self.history.is_browsing() {
            return self.newer();
        }
        self.buffer.move_to(self.buffer.end());
        EditorEvent::Handled
    }

    fn older(&mut self) -> EditorEvent {
        let buffer = &self.buffer;
        let Some(entry) = self.history.older(|| buffer.raw()) else { return EditorEvent::Handled };
        self.close_menu();
        self.buffer.set_raw(&paste::clean(&entry));
        self.buffer.move_to(Position::default());
        EditorEvent::Changed
    }

    fn newer(&mut self) -> EditorEvent {
        match self.history.newer() {
            None => return EditorEvent::Handled,
            Some(Newer::Entry(entry)) => self.buffer.set_raw(&paste::clean(&entry)),
            Some(Newer::Draft(draft)) => self.buffer.set_raw(&draft),
        }
        self.close_menu();
        EditorEvent::Changed
    }

    fn jump_to(&mut self, target: &str, forward: bool) -> EditorEvent {
        let caret = self.buffer.caret();
        let found = match forward {
            true => self.buffer.find_forward(caret, target),
            false => self.buffer.find_backward(caret, target),
        };
        if let Some(position) = found {
            self.buffer.move_to(position);
        }
        EditorEvent::Handled
    }

    /// Inserts a line break. Where Enter inserts one and Shift+Enter submits, a backslash before
    /// Enter submits, for terminals that do not report Shift+Enter.
    fn new_line(&mut self, key: &Key, keymap: &Keymap) -> EditorEvent {
        let is_swapped = key.code == KeyCode::Enter
            && key.modifiers == Modifiers::NONE
            && keymap.keys("tui.input.submit").iter().any(|submit| {
                submit.code == KeyCode::Enter && submit.modifiers == Modifiers::SHIFT
            });
        if is_swapped && self.buffer.before_caret().ends_with('\\') {
            self.buffer.delete_backward();
            return self.submit();
        }
        self.break_line();
        EditorEvent::Changed
    }

    fn break_line(&mut self) {
        self.close_menu();
        self.history.leave();
        self.buffer.insert("\n");
    }

    /// Submits, or replaces a backslash before the caret by a line break.
    fn enter(&mut self) -> EditorEvent {
        if !self.buffer.before_caret().ends_with('\\') {
            return self.submit();
        }
        let caret = self.buffer.caret();
        self.close_menu();
        self.history.leave();
        self.buffer.replace(self.buffer.left(caret)..caret, "\n");
        EditorEvent::Changed
    }

    /// Submits the text, unless there is none.
    pub(super) fn submit(&mut self) -> EditorEvent {
        self.close_menu();
        if !self.can_submit {
            return EditorEvent::SubmitBlocked;
        }
        match self.take_text() {
            Some(text) => EditorEvent::Submit(text),
            None => EditorEvent::Handled,
        }
    }

    /// Moves the caret to a cell of the editor, or selects an entry of the menu.
    pub(super) fn click(&mut self, row: usize, column: usize) -> EditorEvent {
        let visible = self.visible_rows();
        if (1..=visible).contains(&row) {
            let target = self.buffer.row_below(self.top, row - 1);
            self.buffer.move_to_column(target, column.saturating_sub(self.drawn_padding));
            self.jump = None;
            self.close_menu();
            self.settle();
            return EditorEvent::Handled;
        }
        let entry = row.checked_sub(visible + 2);
        let is_selected = match (&mut self.menu, entry) {
            (Some(menu), Some(entry)) => menu.click(entry),
            _ => false,
        };
        if is_selected { EditorEvent::Handled } else { EditorEvent::Ignored }
    }
}
