//! The message of a `message_update`, lent to a handler.
//!
//! The message belongs to the stream of the answer, which appends to it in place as long as no one
//! else holds it. A handler reads it through [`Lent`]; when the handler has returned, the message
//! goes back to the stream. If JavaScript still has the event then, it keeps a copy: `event.message`
//! is always the message as of the event.

use std::sync::{Arc, Mutex};

use pi_base::lock;
use pi_protocol::{AssistantMessage, Message};
use serde_json::{Value, json};

/// A message that is lent out until this is dropped.
pub(super) struct Partial(Arc<Mutex<Arc<AssistantMessage>>>);

/// The message for one handler.
pub(super) struct Lent(Arc<Mutex<Arc<AssistantMessage>>>);

impl Partial {
    pub(super) fn new(message: &Arc<AssistantMessage>) -> Self {
        Self(Arc::new(Mutex::new(Arc::clone(message))))
    }

    pub(super) fn lend(&self) -> Lent {
        Lent(Arc::clone(&self.0))
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if Arc::strong_count(&self.0) > 1 {
            let mut message = lock(&self.0);
            *message = Arc::new(AssistantMessage::clone(&message));
        }
    }
}

impl Lent {
    /// Returns the message as JSON.
    pub(super) fn read(&self) -> Value {
        json!(Message::Assistant(Arc::clone(&lock(&self.0))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_goes_back_unless_it_is_still_read() {
        let mut message =
            Arc::new(AssistantMessage { model: "one".to_owned(), ..Default::default() });
        let partial = Partial::new(&message);
        drop(partial.lend());
        drop(partial);
        assert!(Arc::get_mut(&mut message).is_some(), "no reader is left");
        let partial = Partial::new(&message);
        let lent = partial.lend();
        drop(partial);
        Arc::get_mut(&mut message).unwrap().model = "two".to_owned();
        assert_eq!(lent.read()["model"], "one", "a reader keeps the message of its event");
    }
}
