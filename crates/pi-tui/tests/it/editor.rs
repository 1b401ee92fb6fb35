//! Tests of the editor, the input line and completion.

mod completion;
mod keys;
mod model;
mod screens;
mod vim;

use pi_tui::input::defaults::Platform;
use pi_tui::input::{Input, Key, Keymap, Modifiers, Mouse, MouseButton, MouseKind};
use pi_tui::{
    Attributes, Completer, CompletionRequest, Completions, Component, Editor, EditorEvent, LineEnd,
    Lines, NoCompleter, Theme, View,
};

/// An editor with keys and a completer.
pub(crate) struct Harness {
    pub(crate) editor: Editor,
    pub(crate) keymap: Keymap,
    pub(crate) completer: Box<dyn Completer>,
}

impl Harness {
    pub(crate) fn new() -> Self {
        Self::with(NoCompleter)
    }

    pub(crate) fn with(completer: impl Completer + 'static) -> Self {
        Self { editor: Editor::new(), keymap: keymap(), completer: Box::new(completer) }
    }

    pub(crate) fn handle(&mut self, input: &Input) -> EditorEvent {
        self.editor.handle(input, &self.keymap, &mut *self.completer)
    }

    /// Types every character of a text; a line break is Shift+Enter.
    pub(crate) fn typed(&mut self, text: &str) -> &mut Self {
        for character in text.chars() {
            match character {
                '\n' => self.press("shift+enter"),
                other => self.handle(&Input::Key(Key::typed(other))),
            };
        }
        self
    }

    /// Presses a key, named as in keybinding files.
    pub(crate) fn press(&mut self, key: &str) -> EditorEvent {
        self.handle(&Input::Key(key_named(key)))
    }

    /// Presses keys, separated by spaces.
    pub(crate) fn keys(&mut self, keys: &str) -> &mut Self {
        for key in keys.split_whitespace() {
            self.press(key);
        }
        self
    }

    pub(crate) fn paste(&mut self, text: &str) -> &mut Self {
        self.handle(&Input::Paste(text.to_owned()));
        self
    }

    pub(crate) fn click(&mut self, row: usize, column: usize) -> EditorEvent {
        let kind = MouseKind::Press(MouseButton::Left);
        self.handle(&Input::Mouse(Mouse { kind, column, row, modifiers: Modifiers::NONE }))
    }

    /// Returns the text with `|` at the caret.
    pub(crate) fn state(&self) -> String {
        let caret = self.editor.caret();
        let mut text = self.editor.displayed_text();
        let offset: usize = text.split('\n').take(caret.line).map(|line| line.len() + 1).sum();
        text.insert(offset + caret.column, '|');
        text
    }

    /// Draws the editor and checks the contract of components.
    fn render(&mut self, width: usize, rows: usize) -> Lines {
        let theme = Theme::plain();
        let lines = self.editor.render(View { width, rows, theme: &theme });
        for line in lines.iter() {
            assert!(line.width() <= width, "{} > {width}: {:?}", line.width(), line.text());
        }
        lines
    }

    /// Returns the drawn lines as text, without spaces at their ends.
    pub(crate) fn screen(&mut self, width: usize, rows: usize) -> Vec<String> {
        let lines = self.render(width, rows);
        lines.iter().map(|line| line.text().trim_end().to_owned()).collect()
    }

    /// Returns the rows between the borders; true if the next one belongs to the same line.
    pub(crate) fn rows(&mut self, width: usize, rows: usize) -> Vec<(String, bool)> {
        let lines = self.render(width, rows);
        let rows = &lines[1..lines.len() - 1];
        rows.iter().map(|line| (line.text(), line.end == LineEnd::Joined)).collect()
    }

    /// Returns the row and the column of the caret.
    pub(crate) fn caret(&mut self, width: usize, rows: usize) -> Option<(usize, usize)> {
        let lines = self.render(width, rows);
        lines.iter().enumerate().find_map(|(row, line)| Some((row, line.caret?)))
    }

    /// Returns true if a cell is drawn inverse.
    pub(crate) fn has_inverse(&mut self, width: usize) -> bool {
        let lines = self.render(width, 24);
        let mut spans = lines.iter().flat_map(|line| line.spans());
        spans.any(|span| span.style.attributes.contains(Attributes::INVERSE))
    }
}

/// Returns the key with a name, with the text that it types.
pub(crate) fn key_named(name: &str) -> Key {
    let id: pi_tui::input::key::KeyId = name.parse().expect("a key");
    let mut characters = name.chars();
    match (characters.next(), characters.next()) {
        (Some(one), None) => Key::typed(one),
        _ if name == "space" => Key::typed(' '),
        _ => Key::new(id.code, id.modifiers),
    }
}

/// Returns the default keys.
pub(crate) fn keymap() -> Keymap {
    Keymap::with_defaults(Platform::Unix, &[])
}

/// A completer that always gives the same completions.
pub(crate) struct Fixed(pub(crate) Completions);

impl Completer for Fixed {
    fn complete(&mut self, _request: &CompletionRequest<'_>) -> Option<Completions> {
        Some(self.0.clone())
    }
}
