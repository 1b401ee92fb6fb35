//! The components of a thread that are on the screen, and the way from each of them to it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use pi_base::lock;
use pi_coding_agent::extension::{ComponentHandle, ComponentMessage};

/// The number of a component, which JavaScript gave it.
pub(crate) type ComponentId = u32;

/// The components of a thread that are on the screen.
#[derive(Debug, Default)]
pub(crate) struct Shown(RefCell<BTreeMap<ComponentId, Link>>);

impl Shown {
    pub(crate) fn insert(&self, id: ComponentId, link: Link) {
        self.0.borrow_mut().insert(id, link);
    }

    pub(crate) fn remove(&self, id: ComponentId) {
        self.0.borrow_mut().remove(&id);
    }

    /// Sends a message of a component to its screen.
    pub(crate) fn send(&self, id: ComponentId, message: ComponentMessage) {
        if let Some(link) = self.0.borrow().get(&id) {
            link.send(message);
        }
    }

    /// Requests a frame for all components.
    pub(crate) fn redraw(&self) {
        for link in self.0.borrow().values() {
            link.send(ComponentMessage::Redraw);
        }
    }
}

/// The way from a component to its screen. Messages wait until the screen has built the component.
#[derive(Debug, Clone, Default)]
pub(crate) struct Link(Arc<Mutex<LinkState>>);

#[derive(Debug, Default)]
struct LinkState {
    handle: Option<ComponentHandle>,
    waiting: Vec<ComponentMessage>,
}

impl Link {
    fn send(&self, message: ComponentMessage) {
        let mut state = lock(&self.0);
        match &state.handle {
            Some(handle) => handle.send(message),
            // The first frame is drawn anyway.
            None if message == ComponentMessage::Redraw => {}
            None => state.waiting.push(message),
        }
    }

    pub(crate) fn attach(&self, handle: ComponentHandle) {
        let mut state = lock(&self.0);
        for message in state.waiting.drain(..) {
            handle.send(message);
        }
        state.handle = Some(handle);
    }
}
