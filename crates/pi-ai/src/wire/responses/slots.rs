//! Maps events to content blocks.
//!
//! OpenAI numbers the items (`output_index`) and names them (`item_id`). GitHub Copilot gives the
//! same item a new id in every event, llama-server sends no number, and some proxies send neither.
//! An item is therefore found by number, without a number by id, and otherwise as the latest open
//! item of the kind. The kind must always match, so that no text delta reaches a tool call.

use super::custom::CustomInput;
use super::event::Event;
use super::item::ItemKind;

/// An output item that became a content block.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) kind: ItemKind,
    pub(super) content_index: usize,
    output_index: Option<u64>,
    item_id: String,
    /// True if the item is complete.
    pub(super) done: bool,
    /// True if a part of the reasoning ended: a blank line precedes the next part.
    pub(super) part_ended: bool,
    /// The input of a grammar tool's call.
    pub(super) custom: Option<CustomInput>,
}

/// The identification of an item in an event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Address<'a> {
    /// The number of the item, if the event has one.
    pub(super) output_index: Option<u64>,
    /// The id of the item; empty if there is none.
    pub(super) item_id: &'a str,
}

impl<'a> Address<'a> {
    /// Returns the identification of the item in `event`.
    pub(super) fn of(event: &'a Event<'_>) -> Self {
        Self { output_index: event.output_index, item_id: &event.item_id }
    }
}

impl Slot {
    /// Creates a slot for a block that was just opened.
    pub(super) fn new(kind: ItemKind, content_index: usize, address: Address<'_>) -> Self {
        Self {
            kind,
            content_index,
            output_index: address.output_index,
            item_id: address.item_id.to_owned(),
            done: false,
            part_ended: false,
            custom: None,
        }
    }

    fn has_id(&self, address: Address<'_>) -> bool {
        !address.item_id.is_empty() && self.item_id == address.item_id
    }

    fn has_index(&self, address: Address<'_>) -> bool {
        address.output_index.is_some() && self.output_index == address.output_index
    }
}

/// The items so far. There are few, and an event nearly always belongs to the last one.
#[derive(Debug, Default)]
pub(super) struct Slots(Vec<Slot>);

impl Slots {
    /// Finds the slot of the item at `address`.
    pub(super) fn find(&mut self, kind: ItemKind, address: Address<'_>) -> Option<&mut Slot> {
        let position = self.position(kind, address)?;
        self.0.get_mut(position)
    }

    /// Finds the slot of the item at `address`; if there is none, adds one for the block that `open`
    /// opens.
    pub(super) fn find_or_open(
        &mut self,
        kind: ItemKind,
        address: Address<'_>,
        open: impl FnOnce() -> usize,
    ) -> &mut Slot {
        match self.position(kind, address) {
            Some(position) => &mut self.0[position],
            None => self.push(Slot::new(kind, open(), address)),
        }
    }

    fn position(&self, kind: ItemKind, address: Address<'_>) -> Option<usize> {
        let last = |matches: &dyn Fn(&Slot) -> bool| {
            self.0.iter().rposition(|slot| slot.kind == kind && matches(slot))
        };
        last(&|slot| slot.has_index(address) && slot.has_id(address))
            .or_else(|| last(&|slot| slot.has_index(address) && !slot.done))
            .or_else(|| last(&|slot| slot.has_index(address)))
            .or_else(|| last(&|slot| slot.has_id(address)))
            // A new number begins a new item, even if another one is open.
            .or_else(|| last(&|slot| !slot.done && address.output_index.is_none()))
    }

    /// Adds a slot and returns it.
    pub(super) fn push(&mut self, slot: Slot) -> &mut Slot {
        let position = self.0.len();
        self.0.push(slot);
        &mut self.0[position]
    }

    /// Returns true if no item became a block yet.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the slots in the order of their blocks.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Slot> {
        self.0.iter()
    }
}
