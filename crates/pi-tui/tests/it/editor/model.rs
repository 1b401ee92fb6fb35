//! Random operations on the editor give what a plain string with an offset gives.

use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation as _;

use super::Harness;

/// A text as a plain string, with the offset of the caret.
#[derive(Debug, Default)]
struct Model {
    text: String,
    caret: usize,
}

#[derive(Debug, Clone)]
enum Operation {
    Type(char),
    Paste(String),
    NewLine,
    Left,
    Right,
    LineStart,
    LineEnd,
    Backspace,
    Delete,
    KillLineStart,
    KillLineEnd,
    WordLeft,
    WordRight,
    KillWordLeft,
    KillWordRight,
    /// Movement by rows: anywhere, but on a boundary, and the text stays.
    Up,
    Down,
    Page(bool),
    SetText(String),
}

impl Model {
    fn insert(&mut self, text: &str) {
        self.text.insert_str(self.caret, text);
        self.caret += text.len();
    }

    /// Boundaries of grapheme clusters. A line break is always one of its own.
    fn boundaries(&self) -> Vec<usize> {
        let mut offset = 0;
        let mut boundaries = vec![0];
        for line in self.text.split_inclusive('\n') {
            for grapheme in line.trim_end_matches('\n').graphemes(true) {
                offset += grapheme.len();
                boundaries.push(offset);
            }
            if line.ends_with('\n') {
                offset += 1;
                boundaries.push(offset);
            }
        }
        boundaries
    }

    fn left(&self) -> usize {
        self.boundaries().into_iter().rfind(|at| *at < self.caret).unwrap_or(0)
    }

    fn right(&self) -> usize {
        self.boundaries().into_iter().find(|at| *at > self.caret).unwrap_or(self.text.len())
    }

    fn line_start(&self) -> usize {
        self.text[..self.caret].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.caret..].find('\n').map_or(self.text.len(), |at| self.caret + at)
    }

    fn class(&self, at: usize) -> u8 {
        match self.text[at..].chars().next() {
            Some(first) if first.is_whitespace() => 0,
            Some(first) if first.is_alphanumeric() || first == '_' => 1,
            _ => 2,
        }
    }

    fn word_left(&self) -> usize {
        let start = self.line_start();
        if self.caret == start {
            return self.left();
        }
        let units: Vec<usize> =
            self.boundaries().into_iter().filter(|at| (start..self.caret).contains(at)).collect();
        let mut units = units.into_iter().rev().peekable();
        let mut result = self.caret;
        while let Some(at) = units.next_if(|at| self.class(*at) == 0) {
            result = at;
        }
        if let Some(first) = units.peek().copied() {
            let class = self.class(first);
            while let Some(at) = units.next_if(|at| self.class(*at) == class) {
                result = at;
            }
        }
        result
    }

    fn word_right(&self) -> usize {
        let end = self.line_end();
        if self.caret == end {
            return self.right();
        }
        let units: Vec<usize> =
            self.boundaries().into_iter().filter(|at| (self.caret..end).contains(at)).collect();
        let mut units = units.into_iter().peekable();
        while units.next_if(|at| self.class(*at) == 0).is_some() {}
        if let Some(first) = units.peek().copied() {
            let class = self.class(first);
            while units.next_if(|at| self.class(*at) == class).is_some() {}
        }
        units.peek().copied().unwrap_or(end)
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.caret = from;
    }

    fn run(&mut self, operation: &Operation) {
        self.change(operation);
        // A caret within a cluster that an edit joined stands behind it.
        let boundaries = self.boundaries();
        self.caret = boundaries.into_iter().find(|at| *at >= self.caret).unwrap_or(self.caret);
    }

    fn change(&mut self, operation: &Operation) {
        match operation {
            Operation::Type(character) => self.insert(&character.to_string()),
            Operation::Paste(text) => self.insert(text),
            Operation::NewLine => self.insert("\n"),
            Operation::Left => self.caret = self.left(),
            Operation::Right => self.caret = self.right(),
            Operation::LineStart => self.caret = self.line_start(),
            Operation::LineEnd => self.caret = self.line_end(),
            Operation::Backspace => self.remove(self.left(), self.caret),
            Operation::Delete => self.remove(self.caret, self.right()),
            Operation::KillLineStart if self.caret == self.line_start() => {
                self.remove(self.left(), self.caret);
            }
            Operation::KillLineStart => self.remove(self.line_start(), self.caret),
            Operation::KillLineEnd if self.caret == self.line_end() => {
                self.remove(self.caret, self.right());
            }
            Operation::KillLineEnd => self.remove(self.caret, self.line_end()),
            Operation::WordLeft => self.caret = self.word_left(),
            Operation::WordRight => self.caret = self.word_right(),
            Operation::KillWordLeft => self.remove(self.word_left(), self.caret),
            Operation::KillWordRight => self.remove(self.caret, self.word_right()),
            Operation::Up | Operation::Down | Operation::Page(_) => {}
            Operation::SetText(text) => {
                self.text.clone_from(text);
                self.caret = text.len();
            }
        }
    }
}

fn run(harness: &mut Harness, operation: &Operation) {
    match operation {
        Operation::Type(character) => {
            harness.typed(&character.to_string());
        }
        Operation::Paste(text) => {
            harness.paste(text);
        }
        Operation::SetText(text) => harness.editor.set_text(text),
        other => {
            harness.press(match other {
                Operation::NewLine => "shift+enter",
                Operation::Left => "left",
                Operation::Right => "right",
                Operation::LineStart => "home",
                Operation::LineEnd => "end",
                Operation::Backspace => "backspace",
                Operation::Delete => "delete",
                Operation::KillLineStart => "ctrl+u",
                Operation::KillLineEnd => "ctrl+k",
                Operation::WordLeft => "alt+left",
                Operation::WordRight => "alt+right",
                Operation::KillWordLeft => "ctrl+w",
                Operation::KillWordRight => "alt+d",
                Operation::Up => "up",
                Operation::Down => "down",
                Operation::Page(true) => "pageDown",
                _ => "pageUp",
            });
        }
    }
}

fn character() -> impl Strategy<Value = char> {
    prop::sample::select(vec![
        'a', 'b', 'Z', '1', '_', ' ', ' ', '-', '/', 'é', '日', '本', '👍', '\u{301}', '\u{200d}',
        '🇩', '🇪', '👩', '　', 'ก', '☺', '\u{fe0f}', '\u{202e}', '\u{ad}',
    ])
}

fn text() -> impl Strategy<Value = String> {
    let character = prop_oneof![8 => character(), 1 => Just('\n')];
    prop::collection::vec(character, 0..12).prop_map(|characters| characters.into_iter().collect())
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        12 => character().prop_map(Operation::Type),
        // A slash after a word gets a space; the table of keys has that.
        2 => text().prop_filter("no slash", |text| !text.starts_with('/'))
            .prop_map(Operation::Paste),
        2 => Just(Operation::NewLine),
        3 => Just(Operation::Left),
        2 => Just(Operation::Right),
        1 => Just(Operation::LineStart),
        1 => Just(Operation::LineEnd),
        3 => Just(Operation::Backspace),
        2 => Just(Operation::Delete),
        1 => Just(Operation::KillLineStart),
        1 => Just(Operation::KillLineEnd),
        2 => Just(Operation::WordLeft),
        2 => Just(Operation::WordRight),
        1 => Just(Operation::KillWordLeft),
        1 => Just(Operation::KillWordRight),
        2 => Just(Operation::Up),
        2 => Just(Operation::Down),
        1 => any::<bool>().prop_map(Operation::Page),
        1 => text().prop_map(Operation::SetText),
    ]
}

fn caret_offset(harness: &Harness) -> usize {
    let caret = harness.editor.caret();
    let text = harness.editor.text();
    let before: usize = text.split('\n').take(caret.line).map(|line| line.len() + 1).sum();
    before + caret.column
}

proptest! {
    #[test]
    fn editor_equals_the_model(
        operations in prop::collection::vec(operation(), 1..60),
        width in 1usize..30,
    ) {
        let mut harness = Harness::new();
        let mut model = Model::default();
        for operation in &operations {
            run(&mut harness, operation);
            model.run(operation);
            prop_assert_eq!(harness.editor.text(), model.text.clone(), "{:?}", operation);
            let caret = caret_offset(&harness);
            if matches!(operation, Operation::Up | Operation::Down | Operation::Page(_)) {
                prop_assert!(model.boundaries().contains(&caret));
                model.caret = caret;
            }
            prop_assert_eq!(caret, model.caret, "{:?} in {:?}", operation, model.text);
            // Drawing checks the width of every line.
            let screen = harness.screen(width, 20);
            prop_assert!(screen.len() >= 3);
        }
    }

    #[test]
    fn undo_restores_every_state(operations in prop::collection::vec(operation(), 1..30)) {
        let mut harness = Harness::new();
        let mut texts = vec![String::new()];
        for operation in &operations {
            run(&mut harness, operation);
            texts.push(harness.editor.text());
        }
        let mut last = texts.len();
        while harness.editor.undo() {
            // Undo goes back through states that were there, and never forward.
            let text = harness.editor.text();
            let Some(at) = texts[..last].iter().rposition(|before| *before == text) else {
                return Err(TestCaseError::fail(format!("{text:?} was never there")));
            };
            last = at + 1;
        }
        prop_assert!(harness.editor.is_empty());
    }

    #[test]
    fn rows_join_to_the_text(text in text(), width in 2usize..12) {
        // Lines drop characters that are never written.
        let text = text.split('\n').map(pi_tui::text::visible).collect::<Vec<_>>().join("\n");
        let mut harness = Harness::new();
        harness.editor.set_text(&text);
        harness.editor.set_focused(false);
        let rows = harness.rows(width, 400);
        let mut joined = String::new();
        for (index, (row, is_joined)) in rows.iter().enumerate() {
            joined.push_str(row);
            if !is_joined && index + 1 < rows.len() {
                joined.push('\n');
            }
        }
        // A wide character in a row of one column is drawn as a space.
        if width > 2 {
            prop_assert_eq!(joined, text);
        }
    }
}
