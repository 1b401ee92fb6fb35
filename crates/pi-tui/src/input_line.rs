//! A single line of input, as selectors and dialogs have it.

use crate::buffer::Buffer;
use crate::buffer::Position;
use crate::buffer::keys::{self, Command};
use crate::buffer::{paste, units};
use crate::component::View;
use crate::input::{Input, Key, KeyKind, Keymap};
use crate::style::Style;
use crate::text;
use crate::text::{Line, Span};
use crate::vim::{Outcome, Vim, VimMode};

/// The character in place of those of a secret.
const BULLET: &str = "•";
/// The characters of a secret that stay visible, at its end.
const VISIBLE: usize = 4;

/// A line of input with a prompt. A text that is too long scrolls.
#[derive(Debug, Clone)]
pub struct InputLine {
    buffer: Buffer,
    prompt: String,
    is_masked: bool,
    is_focused: bool,
    has_hardware_cursor: bool,
    vim: Option<Vim>,
    /// The first visible column of the text.
    first: usize,
}

/// The effect of an input on a line of input.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputEvent {
    /// The input has no meaning for the line.
    Ignored,
    /// The input was used; the text is the same.
    Handled,
    /// The text changed.
    Changed,
    /// The user finished the input. The text stays.
    Submit(String),
    /// The user gave the input up.
    Cancel,
}

impl Default for InputLine {
    fn default() -> Self {
        Self::new()
    }
}

impl InputLine {
    /// Creates an empty line with the prompt `> `.
    pub fn new() -> Self {
        Self {
            buffer: Buffer::new(),
            prompt: "> ".to_owned(),
            is_masked: false,
            is_focused: true,
            has_hardware_cursor: false,
            vim: None,
            first: 0,
        }
    }

    /// Creates a line for a secret: only its last characters are shown.
    pub fn masked() -> Self {
        Self { is_masked: true, ..Self::new() }
    }

    /// Sets the text before the input.
    pub fn set_prompt(&mut self, prompt: impl Into<String>) {
        self.prompt = prompt.into();
    }

    /// Sets whether the caret is shown.
    pub fn set_focused(&mut self, is_focused: bool) {
        self.is_focused = is_focused;
    }

    /// Sets whether the terminal's own cursor shows the caret, so that none is drawn.
    pub fn set_hardware_cursor(&mut self, is_shown: bool) {
        self.has_hardware_cursor = is_shown;
    }

    /// Switches vim mode on or off. It begins in insert mode.
    pub fn set_vim(&mut self, is_on: bool) {
        if is_on != self.vim.is_some() {
            self.buffer.end_group();
            self.vim = is_on.then(|| Vim::new(&mut self.buffer, true));
        }
    }

    /// Returns the mode, if vim mode is on.
    pub fn vim_mode(&self) -> Option<VimMode> {
        self.vim.as_ref().map(Vim::mode)
    }

    /// Returns true if Escape ends a mode or an incomplete command of vim mode.
    pub fn vim_wants_escape(&self) -> bool {
        self.vim.as_ref().is_some_and(Vim::wants_escape)
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        self.buffer.line(0)
    }

    /// Returns true if there is no text.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Replaces the text; the caret stands at its end.
    pub fn set_text(&mut self, text: &str) {
        let text = self.single_line(text);
        self.buffer.set_raw(&text);
    }

    /// Removes the text, and the edits that could be undone.
    pub fn clear(&mut self) {
        self.buffer.reset(&[]);
        self.first = 0;
        if let Some(vim) = &mut self.vim {
            vim.reset(&mut self.buffer);
        }
    }

    /// Handles input.
    pub fn handle(&mut self, input: &Input, keymap: &Keymap) -> InputEvent {
        match input {
            Input::Key(key) if key.kind != KeyKind::Release => {
                let event = match &mut self.vim {
                    Some(vim) => match vim.press(key, &mut self.buffer) {
                        Outcome::Pass => self.press(key, keymap),
                        Outcome::Changed => InputEvent::Changed,
                        Outcome::Handled | Outcome::Rows(_) => InputEvent::Handled,
                    },
                    None => self.press(key, keymap),
                };
                if let Some(vim) = &self.vim {
                    vim.settle(&mut self.buffer);
                }
                event
            }
            Input::Paste(text) => {
                let text = self.single_line(text);
                self.buffer.insert(&text);
                InputEvent::Changed
            }
            _ => InputEvent::Ignored,
        }
    }

    /// Returns a text without line breaks. In a secret they mean nothing, elsewhere they separate.
    fn single_line(&self, text: &str) -> String {
        let text = paste::clean_paste(text);
        let text = text.trim_end_matches('\n');
        text.replace('\n', if self.is_masked { "" } else { " " })
    }

    fn press(&mut self, key: &Key, keymap: &Keymap) -> InputEvent {
        let Some(command) = keys::command(key, keymap) else {
            if keymap.is(key, "tui.select.cancel") {
                return InputEvent::Cancel;
            }
            let Some(text) = keys::typed(key) else { return InputEvent::Ignored };
            self.buffer.type_text(text);
            return InputEvent::Changed;
        };
        let caret = self.buffer.caret();
        let buffer = &mut self.buffer;
        let changed = match command {
            Command::Submit => return InputEvent::Submit(self.text().to_owned()),
            Command::DeleteBackward => buffer.delete_backward(),
            Command::DeleteForward => buffer.delete_forward(),
            Command::DeleteWordBackward => buffer.kill_word_backward(),
            Command::DeleteWordForward => buffer.kill_word_forward(),
            Command::DeleteToLineStart => buffer.kill_to_line_start(),
            Command::DeleteToLineEnd => buffer.kill_to_line_end(),
            Command::Yank => buffer.yank(),
            Command::YankPop => buffer.yank_pop(),
            Command::Undo => buffer.undo(),
            movement => {
                let position = match movement {
                    Command::Left => buffer.left(caret),
                    Command::Right => buffer.right(caret),
                    Command::WordLeft => buffer.word_left(caret),
                    Command::WordRight => buffer.word_right(caret),
                    Command::LineStart => Position::default(),
                    Command::LineEnd => buffer.end(),
                    _ => return InputEvent::Ignored,
                };
                buffer.move_to(position);
                false
            }
        };
        if changed { InputEvent::Changed } else { InputEvent::Handled }
    }

    /// Returns the line for a width.
    pub fn line(&mut self, view: View<'_>) -> Line {
        let (content, caret) = self.content();
        let mut line = text::truncate(&Line::plain(self.prompt.as_str()), view.width, "");
        let columns = view.width - line.width();
        // The caret behind the text needs a column, too.
        let last = content.width().saturating_sub(columns);
        let least = (caret + 1).saturating_sub(columns);
        self.first = self.first.min(last).max(least).min(caret);
        let visible = text::slice(&content, self.first, self.first + columns);
        if self.is_focused {
            line.caret = Some(line.width() + caret - self.first);
        }
        for span in visible.spans() {
            line.push_span(span.clone());
        }
        line
    }

    /// Returns the whole text with the drawn caret, and the column of the caret.
    fn content(&self) -> (Line, usize) {
        let source = self.text();
        let caret = self.buffer.caret().column;
        let is_drawn = self.is_focused && !self.has_hardware_cursor;
        let caret_style = if is_drawn { Style::PLAIN.inverse() } else { Style::PLAIN };
        let count = if self.is_masked { units::units(source).count() } else { 0 };
        let hidden = if count > VISIBLE { count - VISIBLE } else { count };

        let mut line = Line::new();
        let mut column = None;
        for (number, (at, unit)) in units::units(source).enumerate() {
            let is_caret = at == caret;
            if is_caret {
                column = Some(line.width());
            }
            let shown = if self.is_masked && number < hidden { BULLET } else { unit };
            line.push(shown, if is_caret { caret_style } else { Style::PLAIN });
        }
        let column = column.unwrap_or_else(|| {
            let column = line.width();
            line.push_span(Span::layout(" ", caret_style));
            column
        });
        (line, column)
    }
}
