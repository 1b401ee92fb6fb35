//! The document: a list of blocks with their heights.
//!
//! A document may have tens of thousands of blocks. Only those that a screen asks for are rendered;
//! the heights of the others are estimates, or what they were before the width changed. Every
//! operation costs at most the logarithm of the length.

mod heights;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use crate::component::{Block, View};
use crate::text::Lines;
use heights::Heights;

/// Blocks that may be rendered at a time; the least recently shown is released first.
const RENDERED_BLOCKS: usize = 400;

/// The name of a block in its document. Names are never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockId(u64);

impl BlockId {
    fn new(serial: u32, slot: u32) -> Self {
        Self(u64::from(serial) << 32 | u64::from(slot))
    }

    fn serial(self) -> u32 {
        (self.0 >> 32) as u32
    }

    fn slot(self) -> u32 {
        (self.0 & u64::from(u32::MAX)) as u32
    }
}

struct Entry {
    serial: u32,
    block: Box<dyn Block>,
    /// Number of the last use, 0 if the block is not rendered.
    used: u64,
}

/// A list of blocks.
#[derive(Default)]
pub struct Blocks {
    heights: Heights,
    /// Blocks by their slot in the tree of heights.
    entries: Vec<Option<Entry>>,
    serial: u32,
    width: usize,
    uses: u64,
    rendered: VecDeque<BlockId>,
    changes: u64,
}

impl std::fmt::Debug for Blocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Blocks").field("len", &self.len()).field("height", &self.height()).finish()
    }
}

impl Blocks {
    /// Creates an empty document.
    pub fn new() -> Self {
        Self { width: 80, ..Self::default() }
    }

    /// Adds a block at the end.
    pub fn push(&mut self, block: Box<dyn Block>) -> BlockId {
        let height = block.estimated_height(self.width);
        let slot = self.heights.push(height);
        self.put(slot, block)
    }

    /// Adds a block before another; at the end if the other does not exist.
    pub fn insert_before(&mut self, next: BlockId, block: Box<dyn Block>) -> BlockId {
        if !self.contains(next) {
            return self.push(block);
        }
        let height = block.estimated_height(self.width);
        let slot = self.heights.insert_before(next.slot(), height);
        self.put(slot, block)
    }

    fn put(&mut self, slot: u32, block: Box<dyn Block>) -> BlockId {
        self.changes += 1;
        self.serial = self.serial.wrapping_add(1);
        let entry = Entry { serial: self.serial, block, used: 0 };
        let index = slot as usize;
        if index >= self.entries.len() {
            self.entries.resize_with(index + 1, || None);
        }
        self.entries[index] = Some(entry);
        BlockId::new(self.serial, slot)
    }

    /// Removes a block, if it exists.
    pub fn remove(&mut self, id: BlockId) {
        if self.contains(id) {
            self.changes += 1;
            self.heights.remove(id.slot());
            self.entries[id.slot() as usize] = None;
        }
    }

    /// Removes all blocks.
    pub fn clear(&mut self) {
        self.changes += 1;
        self.heights = Heights::default();
        self.entries.clear();
        self.rendered.clear();
    }

    /// Returns the number of blocks.
    pub fn len(&self) -> usize {
        self.heights.len()
    }

    /// Returns true if there are no blocks.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Marks the content of a block as changed.
    pub fn touch(&mut self, id: BlockId) {
        if self.contains(id) {
            self.changes += 1;
        }
    }

    /// Marks the content of all blocks as changed.
    pub fn touch_all(&mut self) {
        self.changes += 1;
    }

    /// Returns a number that grows with every change of the document.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns true if the block is in the document.
    pub fn contains(&self, id: BlockId) -> bool {
        self.entry(id).is_some()
    }

    /// Returns the first block.
    pub fn first(&self) -> Option<BlockId> {
        self.heights.first().and_then(|slot| self.id_of(slot))
    }

    /// Returns the last block.
    pub fn last(&self) -> Option<BlockId> {
        self.heights.last().and_then(|slot| self.id_of(slot))
    }

    /// Returns the block after another.
    pub fn next(&self, id: BlockId) -> Option<BlockId> {
        self.entry(id)?;
        self.heights.next(id.slot()).and_then(|slot| self.id_of(slot))
    }

    /// Returns the block before another.
    pub fn previous(&self, id: BlockId) -> Option<BlockId> {
        self.entry(id)?;
        self.heights.previous(id.slot()).and_then(|slot| self.id_of(slot))
    }

    /// Returns the number of blocks before a block.
    pub fn index_of(&self, id: BlockId) -> Option<usize> {
        self.entry(id)?;
        Some(self.heights.before(id.slot()).0)
    }

    /// Returns the number of rows before a block, as far as heights are known.
    pub fn row_of(&self, id: BlockId) -> Option<usize> {
        self.entry(id)?;
        Some(self.heights.before(id.slot()).1)
    }

    /// Returns the block at a row, and the line in it, as far as heights are known.
    pub fn at_row(&self, row: usize) -> Option<(BlockId, usize)> {
        let (slot, line) = self.heights.at(row)?;
        self.id_of(slot).map(|id| (id, line))
    }

    /// Returns the number of rows of the document, as far as heights are known.
    pub fn height(&self) -> usize {
        self.heights.total()
    }

    /// Renders a block and corrects its height. A block that does not exist has no lines.
    pub fn lines(&mut self, id: BlockId, view: View<'_>) -> Lines {
        self.width = view.width;
        self.uses += 1;
        let uses = self.uses;
        let Some(entry) = self.entry_mut(id) else { return Lines::from([]) };
        let lines = entry.block.render(view);
        if std::mem::replace(&mut entry.used, uses) == 0 {
            self.rendered.push_back(id);
            self.release_oldest();
        }
        self.heights.set(id.slot(), lines.len());
        lines
    }

    /// Releases blocks while too many are rendered. A block that was used since it came into the
    /// queue goes to its end instead; one round through the queue finds a victim.
    fn release_oldest(&mut self) {
        let recent = self.uses.saturating_sub(RENDERED_BLOCKS as u64 / 2);
        for _ in 0..self.rendered.len() {
            if self.rendered.len() <= RENDERED_BLOCKS {
                return;
            }
            let Some(id) = self.rendered.pop_front() else { return };
            let Some(entry) = self.entry_mut(id) else { continue };
            if entry.used > recent {
                self.rendered.push_back(id);
            } else {
                entry.used = 0;
                entry.block.release();
            }
        }
    }

    fn id_of(&self, slot: u32) -> Option<BlockId> {
        let entry = self.entries.get(slot as usize)?.as_ref()?;
        Some(BlockId::new(entry.serial, slot))
    }

    fn entry(&self, id: BlockId) -> Option<&Entry> {
        let entry = self.entries.get(id.slot() as usize)?.as_ref()?;
        (entry.serial == id.serial()).then_some(entry)
    }

    fn entry_mut(&mut self, id: BlockId) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(id.slot() as usize)?.as_mut()?;
        (entry.serial == id.serial()).then_some(entry)
    }
}
