//! Components below each other.

use std::rc::Rc;

use crate::component::{Component, View};
use crate::text::{Line, Lines};

/// Components below each other. Their lines are joined again only after one of them changed.
#[derive(Default)]
pub struct Stack {
    children: Vec<Box<dyn Component>>,
    /// The lines of each child when they were joined last.
    parts: Vec<Lines>,
    joined: Option<Lines>,
}

impl std::fmt::Debug for Stack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stack").field("children", &self.children.len()).finish_non_exhaustive()
    }
}

impl Stack {
    /// Creates an empty stack.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a component at the end.
    pub fn push(&mut self, component: impl Component + 'static) {
        self.children.push(Box::new(component));
    }

    /// Removes all components.
    pub fn clear(&mut self) {
        self.children.clear();
    }

    /// Returns true if there are no components.
    pub fn is_empty(&self) -> bool {
        self.children.is_empty()
    }
}

impl Component for Stack {
    fn render(&mut self, view: View<'_>) -> Lines {
        let parts: Vec<Lines> = self.children.iter_mut().map(|child| child.render(view)).collect();
        let is_same = parts.len() == self.parts.len()
            && parts.iter().zip(&self.parts).all(|(new, old)| Rc::ptr_eq(new, old));
        if let Some(joined) = self.joined.as_ref().filter(|_| is_same) {
            return Rc::clone(joined);
        }
        let joined: Lines = parts.iter().flat_map(|part| part.iter().cloned()).collect();
        self.parts = parts;
        self.joined = Some(Rc::clone(&joined));
        joined
    }
}

/// Empty lines.
#[derive(Debug, Clone)]
pub struct Spacer(Lines);

impl Spacer {
    /// Creates some empty lines.
    pub fn new(rows: usize) -> Self {
        Self(vec![Line::new(); rows].into())
    }
}

impl Component for Spacer {
    fn render(&mut self, _view: View<'_>) -> Lines {
        Rc::clone(&self.0)
    }
}
