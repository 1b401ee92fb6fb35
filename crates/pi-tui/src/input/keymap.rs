//! Keybindings: which keys mean which action.
//!
//! Actions are named by strings (`tui.editor.cursorUp`), as in the user's keybindings file. A
//! program adds the actions of its own to those of the toolkit.

use std::collections::HashMap;

use serde_json::Value;

use super::defaults::{self, Platform};
use super::key::{Key, KeyId};

/// The keys of an action by default.
pub type Binding = (&'static str, &'static [&'static str]);

/// The keys of all actions.
#[derive(Debug, Clone, Default)]
pub struct Keymap {
    keys: HashMap<String, Vec<KeyId>>,
    actions: HashMap<KeyId, Vec<String>>,
    aliases: HashMap<String, String>,
}

/// An entry of a keybindings file that has no effect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The file is not a JSON object.
    #[error("keybindings must be a JSON object of action ids and keys")]
    NotAnObject,
    /// The value of an action is neither a key nor a list of keys.
    #[error("`{action}`: expected a key like \"ctrl+x\" or a list of keys")]
    NotKeys {
        /// The action, as the file names it.
        action: String,
    },
    /// A key of an action has no meaning; the other keys of the action are bound.
    #[error("`{action}`: `{key}` is not a key; write it like `ctrl+shift+up`")]
    InvalidKey {
        /// The action, as the file names it.
        action: String,
        /// The key.
        key: String,
    },
}

impl Keymap {
    /// Creates a keymap with the default keys of the toolkit for a platform, and of tables of the
    /// program's own actions.
    pub fn with_defaults(platform: Platform, own: &[&[Binding]]) -> Self {
        Self::new(defaults::tables(platform).iter().chain(own).copied())
    }

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

    /// Adds old names of the program's own actions, which keybindings files may still use.
    pub fn rename(&mut self, names: &[(&str, &str)]) {
        let names = names.iter().map(|(old, name)| ((*old).to_owned(), (*name).to_owned()));
        self.aliases.extend(names);
    }

    /// Binds keys as the content of a keybindings file says: action to key or list of keys. An
    /// empty list unbinds, a wrong entry keeps the default, and unknown actions are kept for the
    /// parts of a program that define them later.
    pub fn apply(&mut self, json: &Value) -> Vec<Problem> {
        let Some(entries) = json.as_object() else { return vec![Problem::NotAnObject] };
        let mut problems = Vec::new();
        // A present name wins over an old one for the same action.
        let (present, old): (Vec<_>, Vec<_>) =
            entries.iter().partition(|(name, _)| self.present_name(name).is_none());
        for (name, value) in old.into_iter().chain(present) {
            if name == "$schema" {
                continue;
            }
            let action = self.present_name(name).unwrap_or_else(|| name.clone());
            let keys = match value {
                Value::String(key) => vec![Some(key.as_str())],
                Value::Array(keys) => keys.iter().map(Value::as_str).collect(),
                _ => vec![None],
            };
            let Some(keys) = keys.into_iter().collect::<Option<Vec<_>>>() else {
                problems.push(Problem::NotKeys { action: name.clone() });
                continue;
            };
            let mut valid = Vec::new();
            for key in &keys {
                match key.parse() {
                    Ok(key) if valid.contains(&key) => {}
                    Ok(key) => valid.push(key),
                    Err(_) => problems
                        .push(Problem::InvalidKey { action: name.clone(), key: (*key).to_owned() }),
                }
            }
            // A typing error must not leave an action without any key.
            if keys.is_empty() || !valid.is_empty() {
                self.bind(&action, valid);
            }
        }
        problems
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

    /// Returns all actions with their keys.
    pub fn bindings(&self) -> impl Iterator<Item = (&str, &[KeyId])> {
        self.keys.iter().map(|(action, keys)| (action.as_str(), keys.as_slice()))
    }

    /// Returns the keys of an action as text for hints: `escape/ctrl+c`.
    pub fn label(&self, action: &str) -> String {
        let keys: Vec<String> = self.keys(action).iter().map(ToString::to_string).collect();
        keys.join("/")
    }

    /// Returns the present name of an action with an old name.
    fn present_name(&self, name: &str) -> Option<String> {
        self.aliases.get(name).cloned().or_else(|| defaults::renamed(name))
    }
}
