//! Keybindings: which keys mean which action.
//!
//! Actions are named by strings (`tui.editor.cursorUp`), as in the user's keybindings file. A
//! program adds the actions of its own to those of the toolkit.

use std::collections::HashMap;

use super::key::{Key, KeyId};

/// The keys of an action by default.
pub type Binding = (&'static str, &'static [&'static str]);

/// The keys of all actions.
#[derive(Debug, Clone, Default)]
pub struct Keymap {
    keys: HashMap<String, Vec<KeyId>>,
    actions: HashMap<KeyId, Vec<String>>,
}

impl Keymap {
    /// Creates a keymap from tables of default keys.
    pub fn new<'a>(tables: impl IntoIterator<Item = &'a [Binding]>) -> Self {
        let mut keymap = Self::default();
        for (action, keys) in tables.into_iter().flatten() {
            let keys = keys.iter().filter_map(|key| key.parse().ok()).collect();
            keymap.bind(action, keys);
        }
        keymap
    }

    /// Replaces the keys of an action; an empty list unbinds it.
    pub fn bind(&mut self, action: &str, keys: Vec<KeyId>) {
        for bound in self.actions.values_mut() {
            bound.retain(|name| name != action);
        }
        for key in &keys {
            self.actions.entry(*key).or_default().push(action.to_owned());
        }
        self.keys.insert(action.to_owned(), keys);
    }

    /// Returns true if the key is bound to the action.
    pub fn is(&self, key: &Key, action: &str) -> bool {
        self.keys.get(action).is_some_and(|keys| keys.contains(&key.id()))
    }

    /// Returns the actions of a key, in the order in which they were bound.
    pub fn actions(&self, key: &Key) -> &[String] {
        self.actions.get(&key.id()).map_or(&[], Vec::as_slice)
    }

    /// Returns the keys of an action.
    pub fn keys(&self, action: &str) -> &[KeyId] {
        self.keys.get(action).map_or(&[], Vec::as_slice)
    }

    /// Returns the keys of an action as text for hints: `escape/ctrl+c`.
    pub fn label(&self, action: &str) -> String {
        let keys: Vec<String> = self.keys(action).iter().map(ToString::to_string).collect();
        keys.join("/")
    }
}
