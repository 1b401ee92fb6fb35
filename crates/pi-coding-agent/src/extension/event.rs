//! A session event on its way to extensions.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use pi_protocol::AssistantMessage;
use serde_json::Value;

use crate::event::SessionEvent;

/// A session event on its way to extensions. Its payload is built when the first handler needs it,
/// and shared by all handlers.
#[derive(Debug)]
pub struct ExtensionEvent<'a> {
    event: &'a SessionEvent,
    payload: OnceLock<Option<Arc<Value>>>,
}

impl<'a> ExtensionEvent<'a> {
    pub(crate) fn new(event: &'a SessionEvent) -> Self {
        Self { event, payload: OnceLock::new() }
    }

    /// Returns the payload of [`SessionEvent::extension_event`]; `None` for events that extensions
    /// have no name for. The payload of `message_update` has null in the place of the message, so
    /// that a delta costs the same at any length of the answer: see [`Self::partial`].
    pub fn payload(&self) -> Option<Arc<Value>> {
        self.payload.get_or_init(|| self.event.short_payload().map(Arc::new)).clone()
    }

    /// Returns the message so far, of `message_update`. A clone must be dropped before the handler
    /// returns: one that is kept makes the next delta copy the message.
    pub fn partial(&self) -> Option<&'a Arc<AssistantMessage>> {
        match self.event {
            SessionEvent::MessageUpdate { message, .. } => message.as_ref(),
            _ => None,
        }
    }
}

impl Deref for ExtensionEvent<'_> {
    type Target = SessionEvent;

    fn deref(&self) -> &SessionEvent {
        self.event
    }
}
