//! The interface between parts of a screen and the screen.

use std::cell::RefCell;
use std::rc::Rc;

use crate::input::Input;
use crate::text::Lines;
use crate::theme::Theme;

/// The surroundings in which a component is rendered.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// Columns that the component may use.
    pub width: usize,
    /// Rows of the terminal. Lists and editors limit their height by it.
    pub rows: usize,
    /// The colors.
    pub theme: &'a Theme,
}

impl<'a> View<'a> {
    /// Returns the same surroundings with another width.
    #[must_use]
    pub fn with_width(self, width: usize) -> View<'a> {
        View { width, ..self }
    }

    /// Returns what rendered lines depend on, besides the content of a component: the key of a
    /// cache of lines.
    pub fn key(&self) -> (usize, usize, u64) {
        (self.width, self.rows, self.theme.generation())
    }
}

/// A part of the screen: lines out, input in.
///
/// Contract: no line is wider than `view.width`. A component keeps its lines until its content or
/// `view.key()` changes, so that rendering again costs nothing. Both methods return at once.
pub trait Component {
    /// Returns the lines. The line with the caret has it set if the component is focused.
    fn render(&mut self, view: View<'_>) -> Lines;

    /// Receives input; returns false if it has no meaning here.
    fn handle(&mut self, _input: &Input) -> bool {
        false
    }
}

/// A part of a document that is rendered only while it is visible.
pub trait Block {
    /// Returns the lines.
    fn render(&mut self, view: View<'_>) -> Lines;

    /// Returns the height before the block was rendered; a wrong guess moves only the scroll bar.
    fn estimated_height(&self, _width: usize) -> usize {
        3
    }

    /// Forgets what can be computed again. Called when the block is far from the visible part.
    fn release(&mut self) {}
}

impl<T: Component + ?Sized> Component for Rc<RefCell<T>> {
    fn render(&mut self, view: View<'_>) -> Lines {
        self.borrow_mut().render(view)
    }

    fn handle(&mut self, input: &Input) -> bool {
        self.borrow_mut().handle(input)
    }
}

impl<T: Block + ?Sized> Block for Rc<RefCell<T>> {
    fn render(&mut self, view: View<'_>) -> Lines {
        self.borrow_mut().render(view)
    }

    fn estimated_height(&self, width: usize) -> usize {
        self.borrow().estimated_height(width)
    }

    fn release(&mut self) {
        self.borrow_mut().release();
    }
}

/// Lines that were rendered for a key.
#[derive(Debug, Clone, Default)]
pub struct LineCache(Option<((usize, usize, u64), Lines)>);

impl LineCache {
    /// Returns the lines for this view, rendering them if they are not there.
    pub fn get(&mut self, view: View<'_>, render: impl FnOnce() -> Vec<crate::Line>) -> Lines {
        match &self.0 {
            Some((key, lines)) if *key == view.key() => Rc::clone(lines),
            _ => {
                let lines: Lines = render().into();
                self.0 = Some((view.key(), Rc::clone(&lines)));
                lines
            }
        }
    }

    /// Forgets the lines, because the content changed.
    pub fn clear(&mut self) {
        self.0 = None;
    }
}
