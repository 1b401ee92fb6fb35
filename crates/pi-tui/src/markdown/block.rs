//! A finished piece of Markdown as a block of a document.

use std::rc::Rc;

use super::MarkdownOptions;
use super::piece::{Definitions, Entry};
use super::progress::Progress;
use super::scan::Kind;
use crate::component::{Block, View};
use crate::text::Lines;

/// A piece of Markdown that does not change any more.
#[derive(Debug)]
pub struct MarkdownBlock {
    source: Box<str>,
    entry: Entry,
    options: Rc<MarkdownOptions>,
    definitions: Rc<Definitions>,
}

impl MarkdownBlock {
    pub(super) fn new(
        source: &str,
        entry: Entry,
        options: Rc<MarkdownOptions>,
        definitions: Rc<Definitions>,
    ) -> Self {
        Self { source: source.into(), entry, options, definitions }
    }
}

impl Block for MarkdownBlock {
    fn render(&mut self, view: View<'_>) -> Lines {
        if let Kind::Code(part) = &self.entry.piece.kind
            && self.entry.spans.is_none()
        {
            // The lines before this piece are gone: it is highlighted from its own start.
            let (range, mode) = (0..self.source.len(), self.options.highlighting);
            self.entry.spans = Progress::default().piece(&self.source, &range, part, mode);
            if self.entry.spans.is_some() {
                self.entry.clear();
            }
        }
        self.entry.render(&self.source, view, &self.options, &self.definitions)
    }

    fn estimated_height(&self, width: usize) -> usize {
        estimated_height(&self.source, width) + usize::from(self.entry.piece.has_gap)
    }

    fn release(&mut self) {
        self.entry.release();
    }
}

/// Returns about the number of lines of a text. Does not read it: a transcript asks for all of its
/// blocks at once.
pub(super) fn estimated_height(text: &str, width: usize) -> usize {
    // Lines of prose are full, those of lists and code are not.
    text.len() / width.clamp(1, 50) + 1
}
