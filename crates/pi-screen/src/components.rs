//! Components of extensions on the screen. This is the only place that knows both interfaces.
//!
//! A component is code of others: its lines are read as text with styles and cut, its panics are
//! contained. A component that panicked shows that instead of its lines, and is not called again.

mod overlay_options;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use pi_coding_agent::extension::{
    Component as Foreign, ComponentFactory, ComponentHandle, ComponentMessage,
};
use pi_tui::input::Input;
use pi_tui::{Block, Component, Line, LineCache, Lines, Token, View, text};
use tokio::sync::mpsc;

use super::transcript;
pub(super) use overlay_options::overlay_options;

/// The messages of a component.
pub(super) type Messages = mpsc::UnboundedReceiver<ComponentMessage>;

/// A component of an extension.
pub(super) struct Adapter {
    /// `None` after a panic. The handle keeps the channel of messages open as long as the component
    /// lives, also if it has no use for it.
    component: Option<(Box<dyn Foreign>, ComponentHandle)>,
    /// Set by messages of the component.
    is_stale: Rc<Cell<bool>>,
    /// The generation of the theme at the last frame.
    theme: Option<u64>,
    cache: LineCache,
}

/// Tells a component on the screen that its lines changed.
#[derive(Clone)]
pub(super) struct Stale(Rc<Cell<bool>>);

impl Stale {
    pub(super) fn set(&self) {
        self.0.set(true);
    }
}

impl Adapter {
    /// Builds a component. Its messages come through the receiver.
    pub(super) fn new(factory: ComponentFactory) -> (Self, Stale, Messages) {
        let (handle, messages) = ComponentHandle::new();
        let is_stale = Rc::new(Cell::new(false));
        let own = handle.clone();
        let component = catch_unwind(AssertUnwindSafe(|| factory(own))).ok();
        let adapter = Self {
            component: component.map(|component| (component, handle)),
            is_stale: Rc::clone(&is_stale),
            theme: None,
            cache: LineCache::default(),
        };
        (adapter, Stale(is_stale), messages)
    }

    /// Returns true if the component panicked.
    pub(super) fn has_failed(&self) -> bool {
        self.component.is_none()
    }

    /// Returns true if the component does not answer at the moment.
    pub(super) fn is_late(&self) -> bool {
        self.component.as_ref().is_none_or(|(component, _)| component.is_late())
    }

    /// Sets the text of a component that replaces the editor.
    pub(super) fn set_text(&mut self, text: &str) {
        self.call(|component| component.set_text(text));
    }

    /// Tells the component that the theme or the size changed.
    pub(super) fn invalidate(&mut self) {
        self.call(|component| component.invalidate());
    }

    /// Calls the component. A component that panics is gone.
    fn call<T>(&mut self, call: impl FnOnce(&mut dyn Foreign) -> T) -> Option<T> {
        let (component, _) = self.component.as_mut()?;
        let result = catch_unwind(AssertUnwindSafe(|| call(&mut **component))).ok();
        if result.is_none() {
            self.component = None;
        }
        result
    }

    fn lines(&mut self, view: View<'_>) -> Lines {
        let generation = view.theme.generation();
        if self.theme.replace(generation).is_some_and(|last| last != generation) {
            self.call(|component| component.invalidate());
            self.cache.clear();
        }
        let is_live = self.component.as_ref().is_some_and(|(component, _)| component.is_live());
        if self.is_stale.take() || is_live {
            self.cache.clear();
        }
        let mut cache = std::mem::take(&mut self.cache);
        let lines = cache.get(view, || {
            let Some(lines) = self.call(|component| component.render(view.width)) else {
                let failed = "A component of an extension failed";
                let line = Line::styled(failed, view.theme.fg(Token::Error));
                return vec![text::truncate(&line, view.width, "…")];
            };
            transcript::styled(&lines, view.width)
        });
        self.cache = cache;
        lines
    }
}

impl Component for Adapter {
    fn render(&mut self, view: View<'_>) -> Lines {
        self.lines(view)
    }

    fn handle(&mut self, input: &Input) -> bool {
        let Some(data) = input.sent() else { return false };
        self.cache.clear();
        self.call(|component| component.handle_input(&data)).is_some()
    }
}

impl Block for Adapter {
    fn render(&mut self, view: View<'_>) -> Lines {
        self.lines(view)
    }
}
