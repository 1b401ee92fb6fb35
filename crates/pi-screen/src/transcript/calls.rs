//! The tool calls that have not ended, by id.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use pi_protocol::ToolResultMessage;
use pi_tui::BlockId;
use serde_json::{Map, Value};

use super::card::Card;
use super::page::Page;
use super::slot::{SharedSlot, Slot};
use super::{is_known_tool, preview, tool};

/// A call and its block.
struct Placed {
    block: BlockId,
    card: SharedSlot<Card>,
}

/// The calls of the current run.
#[derive(Default)]
pub(super) struct Calls {
    calls: HashMap<String, Placed>,
    /// Calls that have lost their block, because the page was built anew.
    detached: HashMap<String, SharedSlot<Card>>,
    /// Calls about which the user is asked. The question may come before the event of the begin.
    asked: HashSet<String>,
}

impl Calls {
    /// Adds a call at the end of the page and returns its block. A call that is there stays.
    pub(super) fn begin(&mut self, id: &str, name: &str, page: &mut Page) -> BlockId {
        if let Some(placed) = self.calls.get(id) {
            return placed.block;
        }
        let card = self.detached.remove(id).unwrap_or_else(|| {
            let card = Card::new(id, name, is_known_tool(name, page.shared()));
            Slot::shared(page.shared(), card)
        });
        let block = page.draw_shared(Rc::clone(&card));
        self.calls.insert(id.to_owned(), Placed { block, card });
        block
    }

    /// Changes a call.
    pub(super) fn change(&mut self, id: &str, page: &mut Page, change: impl FnOnce(&mut Card)) {
        if let Some(placed) = self.calls.get(id) {
            change(placed.card.borrow_mut().change());
            page.touch(placed.block);
        }
    }

    /// Gives a call its real id.
    pub(super) fn rename(&mut self, old: &str, new: &str) {
        if let Some(placed) = self.calls.remove(old) {
            placed.card.borrow_mut().change().set_id(new);
            self.calls.insert(new.to_owned(), placed);
        }
    }

    /// Sets the complete arguments of a call, and what they would change.
    pub(super) fn complete(
        &mut self,
        id: &str,
        name: &str,
        arguments: Arc<Map<String, Value>>,
        page: &mut Page,
    ) {
        let session = page.shared().session();
        let is_known = is_known_tool(name, page.shared());
        self.change(id, page, |card| {
            let is_new = !card.is_complete() || *card.arguments() != *arguments;
            // Arguments may be complete twice: at the end of the stream, and when the call begins.
            card.complete(name, is_known, arguments);
            if is_new
                && card.is_pending()
                && tool::has_preview(name)
                && let Some(session) = session
            {
                card.set_preview(preview::of_edit(card.arguments(), &session));
            }
        });
    }

    /// Begins the execution of a call. Calls that no answer contains get a box, too.
    pub(super) fn start(
        &mut self,
        id: &str,
        name: &str,
        arguments: &Arc<Map<String, Value>>,
        page: &mut Page,
    ) {
        self.begin(id, name, page);
        self.complete(id, name, Arc::clone(arguments), page);
        let is_asked = self.asked.contains(id);
        self.change(id, page, |card| {
            card.begin(Instant::now());
            if is_asked {
                card.ask(Instant::now());
            }
        });
    }

    /// Stops the time of a call while the user is asked about it.
    pub(super) fn ask(&mut self, id: &str, page: &mut Page) {
        self.asked.insert(id.to_owned());
        self.change(id, page, |card| card.ask(Instant::now()));
    }

    /// Lets the time of a call go on.
    pub(super) fn answered(&mut self, id: &str, page: &mut Page) {
        self.asked.remove(id);
        self.change(id, page, |card| card.answered(Instant::now()));
    }

    /// Ends a call with the message of its result.
    pub(super) fn set_result(&mut self, result: &Arc<ToolResultMessage>, page: &mut Page) {
        self.begin(&result.tool_call_id, &result.tool_name, page);
        self.change(&result.tool_call_id, page, |card| card.set_result(result));
        self.calls.remove(&result.tool_call_id);
    }

    /// Ends a call that will not run.
    pub(super) fn abandon(&mut self, id: &str, page: &mut Page) {
        self.change(id, page, Card::abandon);
        self.calls.remove(id);
    }

    /// Ends all calls: the run is over.
    pub(super) fn abandon_all(&mut self, page: &mut Page) {
        let ids: Vec<String> = self.calls.keys().cloned().collect();
        for id in ids {
            self.abandon(&id, page);
        }
    }

    /// Returns the time at which a shown time changes.
    pub(super) fn next_tick(&self) -> Option<Instant> {
        self.calls.values().filter_map(|placed| placed.card.borrow().content().next_tick()).min()
    }

    /// Moves the shown times. Returns true if one of them changed.
    pub(super) fn tick(&mut self, now: Instant, page: &mut Page) -> bool {
        let mut is_changed = false;
        for placed in self.calls.values() {
            let is_due = placed.card.borrow().content().next_tick().is_some_and(|next| next <= now);
            if is_due && placed.card.borrow_mut().change().tick(now) {
                page.touch(placed.block);
                is_changed = true;
            }
        }
        is_changed
    }

    /// Keeps the calls for a page that is built anew.
    pub(super) fn detach(&mut self) {
        self.detached = self.calls.drain().map(|(id, placed)| (id, placed.card)).collect();
    }

    /// Returns true if there are calls without a block.
    pub(super) fn has_detached(&self) -> bool {
        !self.detached.is_empty()
    }

    /// Returns true if a call has no block.
    pub(super) fn is_detached(&self, id: &str) -> bool {
        self.detached.contains_key(id)
    }

    /// Adds the calls that no answer on the page contains.
    pub(super) fn place_detached(&mut self, page: &mut Page) {
        let ids: Vec<String> = self.detached.keys().cloned().collect();
        for id in ids {
            self.begin(&id, "", page);
        }
    }
}
