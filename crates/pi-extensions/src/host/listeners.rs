//! The handlers of an extension, by event.

use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

use pi_base::unpoisoned;

/// The numbers of the handlers per event, shared between the thread and the session: an event
/// without a handler must not cost a message to the thread.
#[derive(Debug, Clone, Default)]
pub(crate) struct Listeners(Arc<RwLock<BTreeMap<String, Vec<usize>>>>);

impl Listeners {
    pub(crate) fn numbers(&self, name: &str) -> Vec<usize> {
        let numbers = unpoisoned(self.0.read());
        numbers.get(name).cloned().unwrap_or_default()
    }

    pub(crate) fn set(&self, name: String, numbers: Vec<usize>) {
        unpoisoned(self.0.write()).insert(name, numbers);
    }

    pub(crate) fn clear(&self) {
        unpoisoned(self.0.write()).clear();
    }
}

/// Returns true for events that come so often that they are sent only to extensions that listen to
/// them.
pub(crate) fn is_progress(event: &str) -> bool {
    matches!(event, "message_update" | "tool_execution_update" | "provider_stream_event")
}
