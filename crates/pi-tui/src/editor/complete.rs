//! The completion menu of the editor.

use crate::buffer::Position;
use crate::buffer::text::floor;
use crate::completion::menu::{Menu, is_exact};
use crate::completion::{Completer, CompletionKind, CompletionRequest, Completions};
use crate::input::{Key, Keymap};
use crate::list::ListEvent;

use super::{Editor, EditorEvent};

impl Editor {
    /// Returns true if the completion menu is open.
    pub fn is_menu_open(&self) -> bool {
        self.menu.is_some()
    }

    /// Closes the completion menu. Returns false if it was not open.
    pub fn close_menu(&mut self) -> bool {
        self.awaited = None;
        let was_open = self.menu.take().is_some();
        if was_open {
            self.cache.clear();
        }
        was_open
    }

    /// Asks the completer again, because it knows more than before. Returns true if there is a menu
    /// or was one.
    pub fn refresh_completion(&mut self, completer: &mut dyn Completer) -> bool {
        let was_open = self.menu.is_some();
        if was_open || self.awaited.is_some() {
            self.update_menu(completer);
            self.cache.clear();
        }
        was_open || self.menu.is_some()
    }

    /// Computes the completions for the text that is there now; opens, changes or closes the menu.
    pub(super) fn update_menu(&mut self, completer: &mut dyn Completer) {
        let is_forced = match (&self.menu, self.awaited) {
            (Some(menu), _) => menu.is_forced,
            (None, awaited) => awaited.unwrap_or(false),
        };
        let completions = self.completions(completer, is_forced);
        self.show(completions, is_forced);
    }

    fn completions(&self, completer: &mut dyn Completer, is_forced: bool) -> Option<Completions> {
        let Position { line, column } = self.buffer.caret();
        let request = CompletionRequest { lines: self.buffer.lines(), line, column, is_forced };
        let mut completions = completer.complete(&request)?;
        let text = self.buffer.line(line);
        let start = floor(text, completions.replaced.start);
        let end = floor(text, completions.replaced.end);
        if !(start <= column && column <= end) {
            return None;
        }
        completions.replaced = start..end;
        Some(completions)
    }

    fn show(&mut self, completions: Option<Completions>, is_forced: bool) {
        self.awaited = None;
        let Some(completions) = completions else {
            self.menu = None;
            return;
        };
        if completions.items.is_empty() {
            self.menu = None;
            self.awaited = (!completions.is_complete).then_some(is_forced);
            return;
        }
        let typed = self.typed(&completions);
        match &mut self.menu {
            Some(menu) => menu.update(completions, self.menu_rows, &typed),
            None => {
                let mut menu = Menu::new(completions, self.menu_rows, &typed);
                menu.is_forced = is_forced;
                self.menu = Some(menu);
            }
        }
    }

    /// Returns the text before the caret that completions replace.
    fn typed(&self, completions: &Completions) -> String {
        let caret = self.buffer.caret();
        let line = self.buffer.line(caret.line);
        line.get(completions.replaced.start..caret.column).unwrap_or_default().to_owned()
    }

    /// Handles a key of the open menu. Returns `None` if the key is not one, or if the text that is
    /// there now has no completions.
    pub(super) fn press_in_menu(
        &mut self,
        key: &Key,
        keymap: &Keymap,
        completer: &mut dyn Completer,
    ) -> Option<EditorEvent> {
        let menu = self.menu.as_mut()?;
        if keymap.is(key, "tui.input.tab") {
            self.update_menu(completer);
            let kind = self.menu.as_ref()?.completions.kind;
            self.apply_selected();
            if kind == CompletionKind::Command {
                self.update_menu(completer);
            }
            return Some(EditorEvent::Changed);
        }
        match menu.handle(key, keymap) {
            ListEvent::Moved => {}
            ListEvent::Cancelled => {
                self.close_menu();
            }
            ListEvent::Confirmed => {
                self.update_menu(completer);
                return self.confirm();
            }
            _ => return None,
        }
        Some(EditorEvent::Handled)
    }

    /// Enter in the menu: applies the selected item, and submits if it is a command or if the text
    /// already is the item. Returns `None` if the menu closed meanwhile.
    fn confirm(&mut self) -> Option<EditorEvent> {
        let menu = self.menu.as_ref()?;
        let is_typed = is_exact(menu.selected()?, &self.typed(&menu.completions));
        if is_typed {
            return Some(self.submit());
        }
        let kind = menu.completions.kind;
        if kind == CompletionKind::Command && !self.can_submit {
            return Some(EditorEvent::SubmitBlocked);
        }
        self.apply_selected();
        if kind == CompletionKind::Command {
            return Some(self.submit());
        }
        Some(EditorEvent::Changed)
    }

    /// Tab without a menu: applies the only completion, or opens the menu.
    pub(super) fn complete_word(&mut self, completer: &mut dyn Completer) -> EditorEvent {
        let completions = self.completions(completer, true);
        self.show(completions, true);
        match &self.menu {
            Some(menu) if menu.completions.is_complete && menu.completions.items.len() == 1 => {
                self.apply_selected();
                EditorEvent::Changed
            }
            _ => EditorEvent::Handled,
        }
    }

    /// Replaces what stands before the caret by the selected item and closes the menu.
    fn apply_selected(&mut self) {
        let Some(menu) = self.menu.take() else { return };
        let Some(item) = menu.selected() else { return };
        let line = self.buffer.caret().line;
        let mut end = menu.completions.replaced.end;
        let mut insert = item.insert.as_str();
        let mut skip = 0;
        let after = self.buffer.line(line).get(end..).unwrap_or_default();
        if insert.trim_end().ends_with('"') && after.starts_with('"') {
            end += 1;
        }
        // A space that is there already is not doubled.
        if self.buffer.line(line).get(end..).is_some_and(|after| after.starts_with(' '))
            && let Some(short) = insert.strip_suffix(' ')
        {
            insert = short;
            skip = 1;
        }
        let start = Position::new(line, menu.completions.replaced.start);
        self.history.leave();
        self.buffer.replace(start..Position::new(line, end), insert);
        let caret = self.buffer.caret();
        if skip > 0 || item.caret_back > 0 {
            let column = (caret.column + skip).saturating_sub(item.caret_back);
            self.buffer.move_to(Position::new(line, column));
        }
    }
}
