//! Values that scripts keep between calls, as entries of the session log.
//!
//! An entry has the changes of one successful script. A branch sees the entries on its own path.

use std::collections::{BTreeMap, BTreeSet};

use pi_coding_agent::AgentSession;
use serde_json::{Map, Value, json};

/// Type of the entries.
pub(super) const ENTRY: &str = "codemode-store";

/// Characters of one value as JSON, and of all values together.
const MAX_VALUE: usize = 256 * 1024;
const MAX_ALL: usize = 1024 * 1024;
/// Characters of a key.
const MAX_KEY: usize = 1024;

/// The stored values as JSON texts, with the changes of one script.
#[derive(Debug, Default)]
pub(super) struct Store {
    values: BTreeMap<String, String>,
    changed: BTreeSet<String>,
}

impl Store {
    /// Reads the values of the current branch.
    pub(super) fn read(session: &AgentSession) -> Self {
        let mut store = Self::default();
        session.with_log(|log| {
            // An entry that cannot be read has no values.
            for data in log.custom_entries(ENTRY).filter_map(Result::ok) {
                store.apply(&data);
            }
        });
        store
    }

    fn apply(&mut self, data: &Value) {
        for (key, value) in data["set"].as_object().into_iter().flatten() {
            self.values.insert(key.clone(), value.to_string());
        }
        for key in data["delete"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            self.values.remove(key);
        }
    }

    /// Returns a value as JSON text.
    pub(super) fn load(&self, key: &str) -> Option<String> {
        self.values.get(key).cloned()
    }

    /// Keeps a value; `None` removes the key. The error is for the script.
    pub(super) fn set(&mut self, key: String, value: Option<String>) -> Result<(), String> {
        if key.chars().count() > MAX_KEY {
            return Err(format!("The key of a stored value has at most {MAX_KEY} characters."));
        }
        let Some(value) = value else {
            self.values.remove(&key);
            self.changed.insert(key);
            return Ok(());
        };
        let size = value.chars().count();
        if size > MAX_VALUE {
            return Err(format!(
                "store(\"{key}\") has {size} characters of JSON, and at most {MAX_VALUE} are kept. \
                 Write large data to a file with a tool."
            ));
        }
        let others = self.values.iter().filter(|(other, _)| **other != key);
        let sizes = others.map(|(key, value)| key.chars().count() + value.chars().count());
        if sizes.sum::<usize>() + key.chars().count() + size > MAX_ALL {
            return Err(format!(
                "All stored values together have at most {MAX_ALL} characters. Remove some with \
                 store(key, undefined)."
            ));
        }
        if let Err(error) = serde_json::from_str::<Value>(&value) {
            return Err(format!("store(\"{key}\") cannot keep the value: {error}."));
        }
        self.changed.insert(key.clone());
        self.values.insert(key, value);
        Ok(())
    }

    /// Returns the changes as the data of an entry; `None` if there are none.
    pub(super) fn changes(&self) -> Option<Value> {
        if self.changed.is_empty() {
            return None;
        }
        let mut set = Map::new();
        let mut delete = Vec::new();
        for key in &self.changed {
            // Values were parsed before they were stored.
            match self.values.get(key).and_then(|text| serde_json::from_str(text).ok()) {
                Some(value) => drop(set.insert(key.clone(), value)),
                None => delete.push(key.clone()),
            }
        }
        Some(json!({ "set": set, "delete": delete }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_bounded_and_changes_recorded() {
        let mut store = Store::default();
        store.apply(&json!({ "set": { "old": 1, "gone": 2 }, "delete": ["gone"] }));
        assert_eq!(store.load("old").as_deref(), Some("1"));
        assert_eq!(store.load("gone"), None);
        assert_eq!(store.changes(), None);
        store.set("a".to_owned(), Some("[1]".to_owned())).unwrap();
        store.set("old".to_owned(), None).unwrap();
        assert_eq!(store.changes(), Some(json!({ "set": { "a": [1] }, "delete": ["old"] })));
        let unreadable = store.set("a".to_owned(), Some("\"\\ud800\"".to_owned()));
        assert!(unreadable.unwrap_err().contains("cannot keep the value"));
        assert_eq!(store.load("a").as_deref(), Some("[1]"));
        let large = |size: usize| Some(format!("\"{}\"", "x".repeat(size)));
        assert!(store.set("b".to_owned(), large(MAX_VALUE)).unwrap_err().contains("at most"));
        for key in ["1", "2", "3", "4"] {
            store.set(key.to_owned(), large(MAX_VALUE - 10)).unwrap();
        }
        let full = store.set("5".to_owned(), large(MAX_VALUE - 10));
        assert!(full.unwrap_err().contains("All stored values"));
    }
}
