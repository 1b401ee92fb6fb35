//! Markdown that arrives piece by piece.
//!
//! The text is cut into pieces (top-level blocks, items of top-level lists, groups of lines of
//! code) that are parsed and rendered on their own. A delta costs what the last piece costs,
//! however long the text is. The result does not depend on the portions in which it arrived.
//!
//! # Long texts
//!
//! [`Markdown::render`] joins the lines of all pieces whenever the text has changed. A transcript
//! avoids that: after each delta it calls [`Markdown::take_finished`] and adds the blocks that it
//! gets to its own list; `render` then yields only what is still open. Every block begins with the
//! empty line that separates it from the one before, so the blocks need no further separation.

mod address;
mod block;
mod code;
mod inline;
mod layout;
mod math;
mod mermaid;
mod piece;
mod progress;
mod scan;
mod source_line;
mod table;
#[cfg(test)]
mod tests;
mod tree;

use std::rc::Rc;

pub use block::MarkdownBlock;
pub use tree::{latex, tree};

use crate::component::{Block, Component, View};
use crate::highlight;
use crate::style::Style;
use crate::text::{Line, Lines};
use crate::theme::Token;
use piece::{Definitions, Entry};
use progress::Progress;
use scan::{Kind, Piece, Scanner};

/// Options for Markdown.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MarkdownOptions {
    /// Style of ordinary text, which wins over `color`.
    pub base: Style,
    /// Color of ordinary text in the theme.
    pub color: Option<Token>,
    /// Columns at the left and at the right.
    pub padding: usize,
    /// Text before lines of code.
    pub code_indent: String,
    /// Items of ordered lists keep their numbers instead of being counted.
    pub list_numbers_as_typed: bool,
    /// Diagrams that are drawn.
    pub mermaid: Mermaid,
    /// Highlighting of code.
    pub highlighting: Highlighting,
    /// The terminal opens links by itself; otherwise their addresses are shown.
    pub hyperlinks: bool,
}

/// The time at which diagrams are drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mermaid {
    /// The source is shown.
    Off,
    /// Diagrams are drawn when they are complete.
    #[default]
    Final,
    /// Diagrams are drawn as they arrive.
    Streaming,
}

/// The way in which code is highlighted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Highlighting {
    /// Code is not highlighted.
    Off,
    /// Grammars are loaded by a thread; code is plain until then. See [`highlight::on_ready`].
    #[default]
    Background,
    /// Rendering waits for grammars.
    Blocking,
}

impl Default for MarkdownOptions {
    fn default() -> Self {
        Self {
            base: Style::PLAIN,
            color: None,
            padding: 0,
            code_indent: "  ".to_owned(),
            list_numbers_as_typed: false,
            mermaid: Mermaid::default(),
            highlighting: Highlighting::default(),
            hyperlinks: true,
        }
    }
}

/// A text in Markdown that may grow.
#[derive(Debug)]
pub struct Markdown {
    options: Rc<MarkdownOptions>,
    text: String,
    is_finished: bool,
    scanner: Scanner,
    /// The pieces that are complete and were not taken.
    entries: Vec<Entry>,
    definitions: Rc<Definitions>,
    progress: Progress,
    /// All lines, for a version of the text.
    whole: Option<(Version, Lines)>,
}

/// What the lines depend on: the view, the length of the text, its end, taken pieces, grammars.
type Version = ((usize, usize, u64), usize, bool, usize, u64);

impl Markdown {
    /// Creates an empty text.
    pub fn new(options: MarkdownOptions) -> Self {
        Self {
            scanner: Scanner::new(options.list_numbers_as_typed),
            options: Rc::new(options),
            text: String::new(),
            is_finished: false,
            entries: Vec::new(),
            definitions: Rc::default(),
            progress: Progress::default(),
            whole: None,
        }
    }

    /// Replaces the text. A text that begins with the present one only grows.
    pub fn set_text(&mut self, text: &str) {
        match text.strip_prefix(self.text.as_str()) {
            Some(delta) if !self.is_finished => self.push(delta),
            Some("") => {}
            _ => {
                *self = Self {
                    options: Rc::clone(&self.options),
                    ..Self::new((*self.options).clone())
                };
                self.push(text);
            }
        }
    }

    /// Adds text at the end.
    pub fn push(&mut self, delta: &str) {
        self.text.push_str(delta);
    }

    /// Marks the text as complete.
    pub fn finish(&mut self) {
        self.scan();
        let mut tail = Vec::new();
        let end = self.scanner.after(self.text.len());
        let scanner = std::mem::replace(&mut self.scanner, end);
        scanner.finish(&self.text, false, &mut tail);
        self.add(tail);
        self.is_finished = true;
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the lines of everything that was not taken.
    pub fn render(&mut self, view: View<'_>) -> Lines {
        self.scan();
        let version = (
            view.key(),
            self.text.len(),
            self.is_finished,
            self.entries.len(),
            highlight::generation(),
        );
        if let Some((rendered, lines)) = &self.whole
            && *rendered == version
        {
            return Lines::clone(lines);
        }
        let mut lines: Vec<Line> = Vec::new();
        for part in self.parts(view) {
            lines.extend(part.iter().cloned());
        }
        let lines: Lines = lines.into();
        self.whole = Some((version, Lines::clone(&lines)));
        lines
    }

    /// Returns the lines of each piece that was not taken, with the empty lines between them.
    /// Pieces that did not change are not rendered again.
    pub fn parts(&mut self, view: View<'_>) -> Vec<Lines> {
        self.scan();
        let mut parts = Vec::with_capacity(self.entries.len() + 1);
        for at in 0..self.entries.len() {
            parts.push(self.part(at, view));
        }
        let mut tail = Vec::new();
        self.scanner.clone().finish(&self.text, !self.is_finished, &mut tail);
        for piece in tail {
            parts.push(self.tail_part(piece, view));
        }
        parts
    }

    /// Takes the pieces that no further text changes, in order. They are not a part of `render`
    /// any more. After `finish`, these are all that is left.
    pub fn take_finished(&mut self) -> Vec<MarkdownBlock> {
        self.scan();
        self.whole = None;
        for at in 0..self.entries.len() {
            self.highlight(at);
        }
        let entries = std::mem::take(&mut self.entries);
        let block = |entry: Entry| {
            let source = self.text.get(entry.piece.range.clone()).unwrap_or_default();
            let (options, definitions) = (Rc::clone(&self.options), Rc::clone(&self.definitions));
            MarkdownBlock::new(source, entry, options, definitions)
        };
        entries.into_iter().map(block).collect()
    }

    /// Returns the height before the text was rendered.
    pub fn estimated_height(&self, width: usize) -> usize {
        block::estimated_height(&self.text, width)
    }

    /// Forgets lines and highlighted code. They are computed again when they are needed.
    pub fn release(&mut self) {
        self.whole = None;
        self.progress = Progress::default();
        self.entries.iter_mut().for_each(Entry::release);
    }

    /// Finds the pieces that are complete.
    fn scan(&mut self) {
        let mut pieces = Vec::new();
        self.scanner.scan(&self.text, &mut pieces);
        self.add(pieces);
    }

    fn add(&mut self, pieces: Vec<Piece>) {
        for piece in pieces {
            if piece.kind == Kind::Definition
                && let Some(line) = self.text.get(piece.range.clone())
                && let Some((label, address)) = source_line::definition(line.trim_end())
            {
                Rc::make_mut(&mut self.definitions).entry(label).or_insert(address);
            }
            self.entries.push(Entry::new(piece));
        }
    }

    fn part(&mut self, at: usize, view: View<'_>) -> Lines {
        self.highlight(at);
        let Some(entry) = self.entries.get_mut(at) else { return Lines::default() };
        let source = self.text.get(entry.piece.range.clone()).unwrap_or_default();
        entry.render(source, view, &self.options, &self.definitions)
    }

    /// Highlights a complete piece of code.
    fn highlight(&mut self, at: usize) {
        let Some(entry) = self.entries.get(at) else { return };
        let Kind::Code(part) = &entry.piece.kind else { return };
        if entry.spans.is_some() {
            return;
        }
        // The state at the start of a piece is that at the end of the one before it.
        let first = if self.progress.is_at(part.block, entry.piece.range.start) {
            at
        } else {
            let before = self.entries.get(..at).unwrap_or_default();
            let is_start = |entry: &Entry| matches!(&entry.piece.kind, Kind::Code(p) if p.opens);
            if part.opens { at } else { before.iter().rposition(is_start).unwrap_or(at) }
        };
        for entry in self.entries.iter_mut().skip(first).take(at + 1 - first) {
            if let Kind::Code(part) = &entry.piece.kind {
                let mode = self.options.highlighting;
                let spans = self.progress.piece(&self.text, &entry.piece.range, part, mode);
                if spans.is_some() {
                    entry.spans = spans;
                    entry.clear();
                }
            }
        }
    }

    fn tail_part(&mut self, piece: Piece, view: View<'_>) -> Lines {
        let source = self.text.get(piece.range.clone()).unwrap_or_default();
        let mut entry = Entry::new(piece);
        if let Kind::Code(part) = &entry.piece.kind {
            let mode = self.options.highlighting;
            entry.spans = self.progress.open_piece(&self.text, &entry.piece.range, part, mode);
        }
        entry.render(source, view, &self.options, &self.definitions)
    }
}

impl Component for Markdown {
    fn render(&mut self, view: View<'_>) -> Lines {
        Self::render(self, view)
    }
}

impl Block for Markdown {
    fn render(&mut self, view: View<'_>) -> Lines {
        Self::render(self, view)
    }

    fn estimated_height(&self, width: usize) -> usize {
        Self::estimated_height(self, width)
    }

    fn release(&mut self) {
        Self::release(self);
    }
}
