//! Text and thinking of an answer that streams.
//!
//! The pieces of Markdown that are complete are blocks of their own, so that a delta and a frame
//! cost what the last piece costs, however long the answer is.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use pi_tui::BlockId;
use pi_tui::markdown::Markdown;
use pi_tui::{Block, Line, Lines, View};

use super::assistant;
use super::markdown::{self, Prose};
use super::options::{Look, Shared};
use super::page::Page;
use super::slot::Toggle;

/// A text that grows.
pub(super) struct Growing {
    group: Rc<Group>,
    /// The piece that is not complete, and its block, which follows those of the others.
    tail: Rc<RefCell<Piece<Markdown>>>,
    tail_block: BlockId,
    blocks: Vec<BlockId>,
    /// The text as the model sent it, if extensions change it before it is drawn.
    original: Option<String>,
}

/// Properties that all pieces of a text share.
struct Group {
    shared: Shared,
    prose: Prose,
    /// Columns in the last frame.
    width: Cell<usize>,
    /// The text is a target of jumps.
    is_prompt: Cell<bool>,
    toggled: Cell<bool>,
}

impl Growing {
    /// Adds an empty text at the end of the page.
    pub(super) fn new(prose: Prose, is_prompt: bool, page: &mut Page) -> Self {
        let group = Rc::new(Group {
            shared: page.shared().clone(),
            prose,
            width: Cell::new(80),
            is_prompt: Cell::new(is_prompt),
            toggled: Cell::new(false),
        });
        let tail = Rc::new(RefCell::new(Piece {
            group: Rc::clone(&group),
            content: group.markdown(),
            is_first: true,
            drawn: None,
        }));
        let tail_block = page.push(Box::new(Rc::clone(&tail)));
        group.make_clickable(tail_block, page);
        let original = group.shared.foreign().changes_markdown().then(String::new);
        Self { group, tail, tail_block, blocks: Vec::new(), original }
    }

    /// Adds text.
    pub(super) fn push(&mut self, delta: &str, page: &mut Page) {
        match &mut self.original {
            None => self.tail.borrow_mut().content.push(delta),
            Some(original) => {
                original.push_str(delta);
                let changed = self.group.changed(original, true);
                self.set_text(&changed, page);
            }
        }
        self.move_finished(page);
        page.touch(self.tail_block);
    }

    /// Ends the text, which is `content`. What was streamed is replaced if it differs.
    pub(super) fn finish(&mut self, content: &str, page: &mut Page) {
        match &mut self.original {
            None => self.set_text(content, page),
            Some(original) => {
                content.clone_into(original);
                let changed = self.group.changed(original, false);
                self.set_text(&changed, page);
            }
        }
        self.tail.borrow_mut().content.finish();
        self.move_finished(page);
        page.touch(self.tail_block);
    }

    /// Sets the text that is drawn. What was drawn stays if the new text only adds to it.
    fn set_text(&mut self, text: &str, page: &mut Page) {
        let added = text.strip_prefix(self.tail.borrow().content.text()).map(str::to_owned);
        if let Some(added) = added {
            if !added.is_empty() {
                self.tail.borrow_mut().content.push(&added);
            }
            return;
        }
        for block in self.blocks.drain(..) {
            page.remove(block);
        }
        let mut tail = self.tail.borrow_mut();
        (tail.content, tail.is_first, tail.drawn) = (self.group.markdown(), true, None);
        tail.content.push(text);
    }

    /// Removes the mark for jumps.
    pub(super) fn unmark(&mut self, page: &mut Page) {
        self.group.is_prompt.set(false);
        page.touch(self.blocks.first().copied().unwrap_or(self.tail_block));
    }

    pub(super) fn is_blank(&self) -> bool {
        self.tail.borrow().content.text().trim().is_empty()
    }

    /// Returns the text so far.
    pub(super) fn source(&self) -> String {
        if let Some(original) = &self.original {
            return original.clone();
        }
        self.tail.borrow().content.text().to_owned()
    }

    /// Adds the blocks of the text to a list.
    pub(super) fn add_blocks(&self, blocks: &mut Vec<BlockId>) {
        blocks.extend(&self.blocks);
        blocks.push(self.tail_block);
    }

    fn move_finished(&mut self, page: &mut Page) {
        let finished = self.tail.borrow_mut().content.take_finished();
        for content in finished {
            let mut tail = self.tail.borrow_mut();
            let is_first = std::mem::replace(&mut tail.is_first, false);
            let piece = Piece { group: Rc::clone(&self.group), content, is_first, drawn: None };
            let block = page.insert_before(self.tail_block, Box::new(piece));
            self.group.make_clickable(block, page);
            self.blocks.push(block);
        }
    }
}

impl Group {
    /// Returns a text as extensions change it.
    fn changed(&self, text: &str, is_streaming: bool) -> String {
        let width = self.width.get();
        self.shared.foreign().markdown(text, self.prose, is_streaming, width).into_owned()
    }

    fn markdown(&self) -> Markdown {
        Markdown::new(markdown::options(self.prose, &self.shared.options()))
    }

    fn make_clickable(self: &Rc<Self>, block: BlockId, page: &mut Page) {
        if self.prose == Prose::Thinking {
            page.on_click(block, Rc::new(RefCell::new(GroupToggle(Rc::clone(self)))));
        }
    }
}

struct GroupToggle(Rc<Group>);

impl Toggle for GroupToggle {
    fn toggle(&mut self) {
        self.0.toggled.set(!self.0.toggled.get());
    }

    fn reset(&mut self) {
        self.0.toggled.set(false);
    }
}

/// A piece of a text.
struct Piece<T> {
    group: Rc<Group>,
    content: T,
    /// The first piece has the distance to the content above, the others have that between pieces.
    is_first: bool,
    /// Lines of the content with those that were made of them, and the mark that they have.
    drawn: Option<(Lines, bool, Lines)>,
}

impl<T: Block> Block for Piece<T> {
    fn render(&mut self, view: View<'_>) -> Lines {
        if view.width == 0 {
            return Lines::from([]);
        }
        self.group.width.set(view.width);
        let content = self.content.render(view);
        if content.is_empty() && !self.is_first {
            return content;
        }
        if self.group.prose == Prose::Thinking {
            let options = self.group.shared.options();
            let foreign = self.group.shared.foreign();
            let toggled = self.group.toggled.get();
            let look = Look { view, options: &options, foreign, toggled };
            if look.hides_thinking() {
                let is_shown = self.is_first && !content.is_empty();
                let lines = if is_shown { assistant::hidden_thinking(look) } else { Vec::new() };
                return lines.into();
            }
        }
        if !self.is_first {
            return content;
        }
        let mark = self.group.is_prompt.get();
        if let Some((source, marked, lines)) = &self.drawn
            && Rc::ptr_eq(source, &content)
            && *marked == mark
        {
            return Rc::clone(lines);
        }
        let source: Vec<Line> = content.to_vec();
        let lines: Lines = assistant::below_gap(source, mark).into();
        self.drawn = Some((content, mark, Rc::clone(&lines)));
        lines
    }

    fn estimated_height(&self, width: usize) -> usize {
        self.content.estimated_height(width)
    }

    fn release(&mut self) {
        self.drawn = None;
        self.content.release();
    }
}
