//! The ids of a session's entries: their text in one allocation, and the entry that each id names.
//!
//! A long session has tens of thousands of ids. One allocation per id and a map with owned keys
//! take longer than everything else that opening such a session costs.

use std::hash::{BuildHasher, RandomState};

use super::Index;

/// A part of the text of all ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IdText {
    start: usize,
    len: u32,
}

/// A place in the hash table.
#[derive(Debug, Clone, Copy)]
struct Slot {
    /// The upper half of the hash, so that most comparisons and all growth need no text.
    hash: u32,
    index: Index,
}

const EMPTY: Index = Index::MAX;

/// The ids of all entries, by entry and by text.
#[derive(Debug)]
pub(super) struct Ids {
    text: String,
    by_index: Vec<IdText>,
    /// Open addressing, linear probing; the length is a power of two, or zero.
    slots: Vec<Slot>,
    used: usize,
    /// Random: a file must not be able to choose ids that collide.
    seed: u64,
}

impl Default for Ids {
    fn default() -> Self {
        Self {
            text: String::new(),
            by_index: Vec::new(),
            slots: Vec::new(),
            used: 0,
            seed: RandomState::new().hash_one(0),
        }
    }
}

impl Ids {
    /// Returns the id of an entry.
    pub(super) fn get(&self, index: Index) -> &str {
        self.text(self.by_index[index as usize])
    }

    /// Returns a text that [`Ids::store`] has stored.
    pub(super) fn text(&self, text: IdText) -> &str {
        &self.text[text.start..text.start + text.len as usize]
    }

    /// Stores a text without naming an entry with it.
    pub(super) fn store(&mut self, id: &str) -> IdText {
        let start = self.text.len();
        self.text.push_str(id);
        // A line, and with it an id, is shorter than 4 GiB.
        IdText { start, len: u32::try_from(id.len()).unwrap_or(u32::MAX) }
    }

    /// Adds the id of the next entry, and returns the entry that had the same id before.
    pub(super) fn push(&mut self, id: &str) -> Option<Index> {
        let index = Index::try_from(self.by_index.len()).unwrap_or(EMPTY);
        let text = self.store(id);
        self.by_index.push(text);
        self.name(index)
    }

    /// Makes the id of an entry name that entry, and returns the entry that it named before.
    pub(super) fn name(&mut self, index: Index) -> Option<Index> {
        if (self.used + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let hash = self.hash(self.get(index));
        let at = self.slot_of(hash, self.get(index));
        let slot = &mut self.slots[at];
        let before = (slot.index != EMPTY).then_some(slot.index);
        *slot = Slot { hash, index };
        self.used += usize::from(before.is_none());
        before
    }

    /// Returns the entry that an id names.
    pub(super) fn find(&self, id: &str) -> Option<Index> {
        if self.slots.is_empty() {
            return None;
        }
        let index = self.slots[self.slot_of(self.hash(id), id)].index;
        (index != EMPTY).then_some(index)
    }

    /// Returns the position of the slot for an id: the one that has it, or the one to put it in.
    fn slot_of(&self, hash: u32, id: &str) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.index == EMPTY || (slot.hash == hash && self.get(slot.index) == id) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let len = (self.slots.len() * 2).max(64);
        let old = std::mem::replace(&mut self.slots, vec![Slot { hash: 0, index: EMPTY }; len]);
        let mask = len - 1;
        for slot in old.into_iter().filter(|slot| slot.index != EMPTY) {
            let mut at = slot.hash as usize & mask;
            while self.slots[at].index != EMPTY {
                at = (at + 1) & mask;
            }
            self.slots[at] = slot;
        }
    }

    /// Hashes eight bytes at a time: multiply, then fold the upper half of the product into the
    /// lower one.
    fn hash(&self, id: &str) -> u32 {
        const FACTOR: u128 = 0x9e37_79b9_7f4a_7c15;
        let fold = |state: u64| {
            let product = u128::from(state) * FACTOR;
            (product as u64) ^ ((product >> 64) as u64)
        };
        let mut state = self.seed ^ id.len() as u64;
        for chunk in id.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            state = fold(state ^ u64::from_le_bytes(word));
        }
        (fold(state) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_found_and_the_last_of_equal_ids_counts() {
        let mut ids = Ids::default();
        assert_eq!(ids.find("x"), None);
        let names: Vec<String> = (0..5000).map(|number| format!("{number:x}")).collect();
        for (index, name) in names.iter().enumerate() {
            assert_eq!(ids.push(name), None, "{index}");
        }
        for (index, name) in names.iter().enumerate() {
            assert_eq!(ids.find(name), Index::try_from(index).ok());
            assert_eq!(ids.get(Index::try_from(index).unwrap_or_default()), name);
        }
        for name in ["", "g", "00", "longer than eight bytes"] {
            assert_eq!(ids.find(name), None, "{name}");
        }
        assert_eq!(ids.push("7"), Some(7));
        assert_eq!(ids.find("7"), Some(5000));
        assert_eq!(ids.name(7), Some(5000));
        assert_eq!(ids.find("7"), Some(7));
        assert_eq!(ids.push(""), None);
        assert_eq!(ids.find(""), Some(5001));
    }
}
