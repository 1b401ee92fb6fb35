//! The multi-line editor: borders, wrapped text, a caret, and a menu of completions.
//!
//! An editor has its keys from a [`Keymap`] and its completions from a [`Completer`]; the program
//! handles the keys of its own before it passes input on. [`Editor::wants`] names those that belong
//! to the editor first.

mod complete;
mod history;
mod outside;
mod press;
mod render;
mod visual;

use std::path::{Path, PathBuf};

pub use outside::Rows;
pub use render::Border;

pub use crate::buffer::Position;

use crate::buffer::{Buffer, keys, paste};
use crate::completion::Completer;
use crate::completion::menu::Menu;
use crate::component::{Component, LineCache, View};
use crate::input::{Input, Key, KeyCode, KeyKind, Keymap, Modifiers, MouseButton, MouseKind};
use crate::text::Lines;
use crate::vim::{Vim, VimMode};

use history::History;
use render::BorderCache;
use visual::RowId;

/// The rows of the completion menu, unless set.
const MENU_ROWS: usize = 5;

/// A multi-line editor.
#[derive(Debug)]
pub struct Editor {
    buffer: Buffer,
    history: History,
    menu: Option<Menu>,
    /// A slow completer has not answered yet; true if Tab asked for it.
    awaited: Option<bool>,
    /// The next character is one to jump to; true if forward.
    jump: Option<bool>,
    border: Border,
    padding: usize,
    menu_rows: usize,
    is_focused: bool,
    has_hardware_cursor: bool,
    can_submit: bool,
    vim: Option<Vim>,
    /// The first visible row.
    top: RowId,
    /// Number of visible rows when the editor was drawn last.
    page: usize,
    /// The columns before the text when the editor was drawn last.
    drawn_padding: usize,
    upper: BorderCache,
    lower: BorderCache,
    cache: LineCache,
    /// The attached images of the text that was submitted last.
    submitted_images: Vec<PathBuf>,
}

/// The effect of an input on an editor.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EditorEvent {
    /// The input has no meaning for the editor.
    Ignored,
    /// The input was used; the text is the same.
    Handled,
    /// The text changed.
    Changed,
    /// The text was submitted, and the editor is empty. Long pastes are expanded, spaces at both
    /// ends removed.
    Submit(String),
    /// The user wants to submit while it is not possible. The text is still there.
    SubmitBlocked,
}

impl Default for Editor {
    fn default() -> Self {
        Self::new()
    }
}

impl Editor {
    /// Creates an empty editor.
    pub fn new() -> Self {
        Self {
            buffer: Buffer::new(),
            history: History::default(),
            menu: None,
            awaited: None,
            jump: None,
            border: Border::default(),
            padding: 0,
            menu_rows: MENU_ROWS,
            is_focused: true,
            has_hardware_cursor: false,
            can_submit: true,
            vim: None,
            top: RowId::default(),
            page: MENU_ROWS,
            drawn_padding: 0,
            upper: BorderCache::default(),
            lower: BorderCache::default(),
            cache: LineCache::default(),
            submitted_images: Vec::new(),
        }
    }

    /// Returns the text as it would be submitted, but with spaces at its ends: long pastes are
    /// expanded.
    pub fn text(&self) -> String {
        self.buffer.expanded()
    }

    /// Returns the text as it is shown, with markers for long pastes.
    pub fn displayed_text(&self) -> String {
        self.buffer.displayed()
    }

    /// Returns true if there is no text.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Returns true if the first line starts with a prefix, spaces aside.
    pub fn starts_with(&self, prefix: &str) -> bool {
        self.buffer.line(0).trim_start().starts_with(prefix)
    }

    /// Returns the place of the caret in the lines that completers see.
    pub fn caret(&self) -> Position {
        self.buffer.caret()
    }

    /// Replaces the text; the caret stands at its end. Can be undone.
    pub fn set_text(&mut self, text: &str) {
        self.leave_modes();
        self.history.leave();
        self.buffer.set_raw(&paste::clean(text));
    }

    /// Inserts a text at the caret; a long one becomes no marker. Can be undone at once.
    pub fn insert(&mut self, text: &str) {
        self.leave_modes();
        self.history.leave();
        self.buffer.insert(&paste::clean_paste(text));
    }

    /// Inserts a text at the caret as a paste of the user: a long one becomes a marker.
    pub fn paste(&mut self, text: &str) {
        self.leave_modes();
        self.history.leave();
        self.buffer.paste(text);
    }

    /// Inserts an image at the caret, which is shown by its name. `text` stands for it wherever the
    /// text of the editor goes.
    pub fn attach_image(&mut self, text: &str, path: &Path) {
        self.leave_modes();
        self.history.leave();
        self.buffer.attach(text, path);
    }

    /// Replaces the text like [`Editor::set_text`]. Each of `images`, a text with the path for which it
    /// stands, is attached where the text contains it as a word.
    pub fn set_text_with_images(&mut self, text: &str, images: &[(String, PathBuf)]) {
        self.set_text(text);
        let mut marked = self.buffer.expanded();
        for (word, path) in images {
            let is_word = |at: usize, found: &str| {
                let after = marked.get(at + found.len()..).unwrap_or_default();
                let before = marked.get(..at).unwrap_or_default();
                !before.ends_with(|it: char| !it.is_whitespace())
                    && !after.starts_with(|it: char| !it.is_whitespace())
            };
            let found = marked.match_indices(word).find(|(at, found)| is_word(*at, found));
            let Some((at, _)) = found else { continue };
            if let Some(marker) = self.buffer.pastes.attach(word, path) {
                marked.replace_range(at..at + word.len(), &marker);
            }
        }
        self.buffer.set_raw(&marked);
    }

    /// Returns the attached images of the text, in order.
    pub fn images(&self) -> Vec<PathBuf> {
        self.buffer.images()
    }

    /// Takes the attached images of the text that was submitted last.
    pub fn take_submitted_images(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.submitted_images)
    }

    /// Removes the text, and the edits that could be undone.
    pub fn clear(&mut self) {
        self.leave_modes();
        self.history.leave();
        let register = self.vim.as_ref().map(|vim| vim.register().to_owned());
        self.buffer.reset(register.as_slice());
        if let Some(vim) = &mut self.vim {
            vim.reset(&mut self.buffer);
        }
    }

    /// Empties the editor and returns its text as it is submitted: long pastes expanded, without
    /// spaces at its ends. Returns `None` if nothing would be left.
    pub fn take_text(&mut self) -> Option<String> {
        let text = self.text();
        let text = text.trim();
        if text.is_empty() {
            return None;
        }
        let text = text.to_owned();
        self.submitted_images = self.images();
        self.clear();
        Some(text)
    }

    /// Takes the last edit back. Returns false if there is none.
    pub fn undo(&mut self) -> bool {
        self.leave_modes();
        self.history.leave();
        self.buffer.undo()
    }

    fn leave_modes(&mut self) {
        self.cache.clear();
        self.jump = None;
        self.close_menu();
    }

    /// Replaces the earlier inputs; the newest is the last.
    pub fn set_history(&mut self, entries: &[String]) {
        self.history = History::default();
        for entry in entries {
            self.history.add(entry);
        }
    }

    /// Adds an input to the earlier ones.
    pub fn add_history(&mut self, entry: &str) {
        self.history.add(entry);
    }

    /// Sets whether the caret is shown.
    pub fn set_focused(&mut self, is_focused: bool) {
        self.is_focused = is_focused;
        self.cache.clear();
    }

    /// Sets whether the terminal's own cursor shows the caret, so that none is drawn.
    pub fn set_hardware_cursor(&mut self, is_shown: bool) {
        self.has_hardware_cursor = is_shown;
        self.cache.clear();
    }

    /// Sets the empty columns on each side of the text.
    pub fn set_padding(&mut self, columns: usize) {
        self.padding = columns;
        self.cache.clear();
    }

    /// Sets the number of completions that are shown, from the next time that they change.
    pub fn set_max_menu_rows(&mut self, rows: usize) {
        self.menu_rows = rows.max(1);
    }

    /// Sets whether Enter submits. If not, [`EditorEvent::SubmitBlocked`] is returned.
    pub fn set_submit_enabled(&mut self, is_enabled: bool) {
        self.can_submit = is_enabled;
    }

    /// Switches vim mode on or off. It begins in insert mode.
    pub fn set_vim(&mut self, is_on: bool) {
        if is_on == self.vim.is_some() {
            return;
        }
        self.buffer.end_group();
        self.vim = is_on.then(|| Vim::new(&mut self.buffer, false));
        self.cache.clear();
    }

    /// Returns the mode, if vim mode is on.
    pub fn vim_mode(&self) -> Option<VimMode> {
        self.vim.as_ref().map(Vim::mode)
    }

    /// Returns the name of the mode to show, if vim mode is on.
    pub fn mode_label(&self) -> Option<&'static str> {
        self.vim_mode().map(VimMode::label)
    }

    /// Returns true if Escape ends a mode or an incomplete command of vim mode, so that it must not
    /// interrupt anything.
    pub fn vim_wants_escape(&self) -> bool {
        self.vim.as_ref().is_some_and(Vim::wants_escape)
    }

    /// Sets the look of the borders.
    pub fn set_border(&mut self, border: Border) {
        if self.border != border {
            self.border = border;
            self.cache.clear();
        }
    }

    /// Returns true if the editor has a meaning for this key that comes before those of the
    /// program: keys of an open menu, the target of a jump, keys for the history, Escape in vim mode.
    pub fn wants(&self, key: &Key, keymap: &Keymap) -> bool {
        if keymap.is(key, "tui.editor.historyPrevious") || keymap.is(key, "tui.editor.historyNext")
        {
            return true;
        }
        if self.jump.is_some() {
            return keys::typed(key).is_some() || key.code == KeyCode::Escape;
        }
        if key.code == KeyCode::Escape && self.vim_wants_escape() {
            return true;
        }
        if self.vim_mode().is_some_and(|mode| mode != VimMode::Insert) && key.is("ctrl+r") {
            return true;
        }
        // ctrl+c also closes a menu, but the program may clear the editor with it.
        let is_plain = !key.modifiers.contains(Modifiers::CTRL);
        self.menu.is_some()
            && (MENU_ACTIONS.iter().any(|action| keymap.is(key, action))
                || is_plain && keymap.is(key, "tui.select.cancel"))
    }

    /// Handles input. The place of a mouse event counts from the first cell of the editor.
    pub fn handle(
        &mut self,
        input: &Input,
        keymap: &Keymap,
        completer: &mut dyn Completer,
    ) -> EditorEvent {
        let event = match input {
            Input::Key(key) if key.kind != KeyKind::Release => self.press(key, keymap, completer),
            Input::Paste(text) => {
                self.jump = None;
                self.history.leave();
                self.buffer.paste(text);
                if self.menu.is_some() {
                    self.update_menu(completer);
                }
                self.settle();
                EditorEvent::Changed
            }
            Input::Mouse(mouse) if mouse.kind == MouseKind::Press(MouseButton::Left) => {
                self.click(mouse.row, mouse.column)
            }
            _ => EditorEvent::Ignored,
        };
        if event != EditorEvent::Ignored {
            self.cache.clear();
        }
        event
    }
}

/// The actions of an open menu.
const MENU_ACTIONS: &[&str] = &[
    "tui.select.up",
    "tui.select.down",
    "tui.select.pageUp",
    "tui.select.pageDown",
    "tui.select.confirm",
    "tui.input.tab",
];

impl Component for Editor {
    fn render(&mut self, view: View<'_>) -> Lines {
        let mut cache = std::mem::take(&mut self.cache);
        let lines = cache.get(view, || self.draw(view));
        self.cache = cache;
        lines
    }
}
