//! Completion of what stands before the caret.
//!
//! A [`Completer`] answers at once for the text that is there: completions are computed again
//! before one is applied, so none is applied to a text that it was not made for. A slow source
//! returns what it has and [`Completions::is_complete`] as false; the program calls
//! [`crate::Editor::refresh_completion`] when there is more.

pub mod command;
pub mod context;
pub(crate) mod menu;
pub mod path;

pub use command::Command;
pub use context::{Context, Token};

use std::ops::Range;

/// A source of completions.
pub trait Completer {
    /// Returns the completions for a text, or `None` if nothing can be completed there.
    fn complete(&mut self, request: &CompletionRequest<'_>) -> Option<Completions>;
}

/// A completer without completions.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoCompleter;

impl Completer for NoCompleter {
    fn complete(&mut self, _request: &CompletionRequest<'_>) -> Option<Completions> {
        None
    }
}

/// The text for which completions are wanted.
#[derive(Debug, Clone, Copy)]
pub struct CompletionRequest<'a> {
    /// All lines. Long pastes are placeholders of reserved characters in them.
    pub lines: &'a [String],
    /// The line of the caret.
    pub line: usize,
    /// The offset of the caret in its line, in bytes.
    pub column: usize,
    /// The user asked for completions with Tab.
    pub is_forced: bool,
}

impl<'a> CompletionRequest<'a> {
    /// Returns the line of the caret before it.
    pub fn before(&self) -> &'a str {
        self.caret_line().get(..self.column).unwrap_or_default()
    }

    /// Returns the line of the caret after it.
    pub fn after(&self) -> &'a str {
        self.caret_line().get(self.column..).unwrap_or_default()
    }

    fn caret_line(&self) -> &'a str {
        self.lines.get(self.line).map_or("", String::as_str)
    }
}

/// The kind of completions, which decides what Enter does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletionKind {
    /// Commands. Enter completes and submits.
    Command,
    /// Arguments of a command.
    Argument,
    /// Files after `@`.
    File,
    /// Paths, on Tab.
    Path,
}

/// Completions of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completions {
    /// The kind of all items.
    pub kind: CompletionKind,
    /// The part of the caret's line that an item replaces, in bytes. The caret is in it or at its
    /// end.
    pub replaced: Range<usize>,
    /// The items, best first.
    pub items: Vec<Completion>,
    /// No more items will come for this text.
    pub is_complete: bool,
}

/// One completion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completion {
    /// The name in the menu.
    pub label: String,
    /// The explanation in the menu.
    pub description: Option<String>,
    /// The text that is inserted.
    pub insert: String,
    /// Bytes at the end of the inserted text that the caret stays before.
    pub caret_back: usize,
}

impl Completion {
    /// Creates a completion that inserts `insert`.
    pub fn new(label: impl Into<String>, insert: impl Into<String>) -> Self {
        Self { label: label.into(), insert: insert.into(), ..Self::default() }
    }

    /// Returns the completion with an explanation.
    #[must_use]
    pub fn described(self, description: impl Into<String>) -> Self {
        Self { description: Some(description.into()), ..self }
    }
}
