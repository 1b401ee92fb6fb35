//! The document on the screen: its blocks, and which of them a click turns around.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use pi_tui::{Block, BlockId, Blocks};

use super::options::Shared;
use super::slot::{Draw, SharedSlot, Slot, Toggle};

/// The blocks of the transcript.
pub(super) struct Page {
    blocks: Blocks,
    shared: Shared,
    toggles: HashMap<BlockId, Rc<RefCell<dyn Toggle>>>,
    /// The first of the blocks that stay at the end for now.
    pinned: Option<BlockId>,
}

impl Page {
    pub(super) fn new(shared: Shared) -> Self {
        Self { blocks: Blocks::new(), shared, toggles: HashMap::new(), pinned: None }
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    pub(super) fn blocks(&mut self) -> &mut Blocks {
        &mut self.blocks
    }

    pub(super) fn clear(&mut self) {
        self.blocks.clear();
        self.toggles.clear();
        self.pinned = None;
    }

    /// Adds a block at the end, but before those that are pinned there.
    pub(super) fn push(&mut self, block: Box<dyn Block>) -> BlockId {
        match self.pinned {
            Some(pinned) => self.blocks.insert_before(pinned, block),
            None => self.blocks.push(block),
        }
    }

    /// Adds content that stays at the end until [`Page::unpin`].
    pub(super) fn pin<T: Draw + 'static>(&mut self, slot: SharedSlot<T>) -> BlockId {
        let id = self.blocks.push(Box::new(Rc::clone(&slot)));
        self.toggles.insert(id, slot);
        self.pinned.get_or_insert(id);
        id
    }

    /// Leaves the pinned blocks where they are.
    pub(super) fn unpin(&mut self) {
        self.pinned = None;
    }

    /// Returns the last block that is not pinned.
    pub(super) fn last(&self) -> Option<BlockId> {
        match self.pinned {
            Some(pinned) => self.blocks.previous(pinned),
            None => self.blocks.last(),
        }
    }

    pub(super) fn insert_before(&mut self, next: BlockId, block: Box<dyn Block>) -> BlockId {
        self.blocks.insert_before(next, block)
    }

    /// Adds content that no longer changes, unless by a click.
    pub(super) fn draw(&mut self, content: impl Draw + 'static) -> BlockId {
        self.draw_shared(Slot::shared(&self.shared, content))
    }

    /// Adds content that changes.
    pub(super) fn draw_shared<T: Draw + 'static>(&mut self, slot: SharedSlot<T>) -> BlockId {
        let id = self.push(Box::new(Rc::clone(&slot)));
        self.toggles.insert(id, slot);
        id
    }

    /// Makes a block turn around by a click on it.
    pub(super) fn on_click(&mut self, id: BlockId, toggle: Rc<RefCell<dyn Toggle>>) {
        self.toggles.insert(id, toggle);
    }

    pub(super) fn touch(&mut self, id: BlockId) {
        self.blocks.touch(id);
    }

    pub(super) fn remove(&mut self, id: BlockId) {
        self.toggles.remove(&id);
        self.blocks.remove(id);
    }

    /// Turns a block around; returns false if it is none of those that were added here.
    pub(super) fn toggle(&mut self, id: BlockId) -> bool {
        let Some(toggle) = self.toggles.get(&id) else { return false };
        toggle.borrow_mut().toggle();
        self.blocks.touch(id);
        true
    }

    /// Changes the settings, and shows all blocks by them.
    pub(super) fn change_options(&mut self, change: impl FnOnce(&mut super::Options)) {
        for toggle in self.toggles.values() {
            toggle.borrow_mut().reset();
        }
        self.shared.change(change);
        self.blocks.touch_all();
    }
}
