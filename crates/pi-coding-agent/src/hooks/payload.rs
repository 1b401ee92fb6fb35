//! The input of hooks: what happens, in which session. The names are those that hooks of Claude
//! Code read; `event` is ours.

use std::path::Path;

use pi_protocol::UserBlock;
use serde_json::{Map, Value, json};

use super::{Hook, HookEvent};

/// The input of the hooks of one event.
#[derive(Debug, Clone)]
pub(super) struct Payload(Map<String, Value>);

impl Payload {
    /// Creates the input for an event with its own fields.
    pub(super) fn new(event: HookEvent, cwd: &Path, fields: Map<String, Value>) -> Self {
        let mut payload = Map::new();
        payload.insert("event".to_owned(), json!(event.name()));
        payload.insert("cwd".to_owned(), json!(cwd));
        payload.extend(fields);
        Self(payload)
    }

    /// Replaces a field.
    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    /// Returns a field as text.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// Returns the input for a hook, which knows the event by the name in its settings.
    pub(super) fn for_hook(&self, hook: &Hook) -> String {
        let mut payload = self.0.clone();
        payload.insert("hook_event_name".to_owned(), json!(hook.written_event));
        Value::Object(payload).to_string()
    }
}

/// Returns the text of a tool result.
pub(crate) fn text_of(content: &[UserBlock]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        UserBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
