//! Successors of a model: which models continue a run, and in which order.
//!
//! Pure: looking up the models and switching to them belong to the session.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use pi_protocol::Model;

/// The successors that the program and the settings name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fallbacks {
    /// Successors of every model, which go first.
    pub given: Vec<String>,
    /// Successors by `provider/id`, by id, or by the beginning of `provider/id` with `*`.
    pub by_model: BTreeMap<String, Vec<String>>,
}

impl Fallbacks {
    /// Returns the successors of a model; `own` are those of its record in `models.json`, which the
    /// settings override.
    pub fn of(&self, model: &Model, own: &[String]) -> Vec<String> {
        let name = format!("{}/{}", model.provider, model.id);
        let longest_pattern = || {
            let matching = self.by_model.iter().filter(|(pattern, _)| {
                pattern.strip_suffix('*').is_some_and(|start| name.starts_with(start))
            });
            matching.max_by_key(|(pattern, _)| pattern.len()).map(|(_, successors)| successors)
        };
        let configured = self.by_model.get(&name).or_else(|| self.by_model.get(&model.id));
        let configured = configured.or_else(longest_pattern).map_or(own, Vec::as_slice);
        self.given.iter().chain(configured).cloned().collect()
    }
}

/// The models of one run that were tried, and those to try. No model is tried twice.
#[derive(Debug, Default)]
pub struct Chain {
    tried: BTreeSet<String>,
    /// Names that were pending before, so that no successor is looked up twice.
    named: BTreeSet<String>,
    pending: VecDeque<String>,
}

impl Chain {
    /// Marks the model that failed, and adds its successors after those that are left.
    pub fn failed(&mut self, model: &Model, successors: Vec<String>) {
        if self.tried.insert(format!("{}/{}", model.provider, model.id)) {
            let named = &mut self.named;
            let new = successors.into_iter().filter(|name| named.insert(name.clone()));
            self.pending.extend(new);
        }
    }

    /// Takes the next model to look up.
    pub fn next_name(&mut self) -> Option<String> {
        self.pending.pop_front()
    }

    /// Returns true if a model has not failed in this run.
    pub fn is_new(&self, model: &Model) -> bool {
        !self.tried.contains(&format!("{}/{}", model.provider, model.id))
    }

    /// Returns true if models are left to look up.
    pub fn has_more(&self) -> bool {
        !self.pending.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(provider: &str, id: &str) -> Model {
        Model { provider: provider.to_owned(), id: id.to_owned(), ..Model::default() }
    }

    fn texts(list: &[&str]) -> Vec<String> {
        list.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn the_most_specific_entry_counts() {
        let by_model = [
            ("a/b", "exact"),
            ("b", "by id"),
            ("a/*", "of the provider"),
            ("a/x-*", "longer pattern"),
            ("*", "all"),
        ];
        let by_model = by_model.map(|(key, value)| (key.to_owned(), texts(&[value]))).into();
        let fallbacks = Fallbacks { given: texts(&["given"]), by_model };
        for (provider, id, expected) in [
            ("a", "b", "exact"),
            ("z", "b", "by id"),
            ("a", "c", "of the provider"),
            ("a", "x-1", "longer pattern"),
            ("z", "z", "all"),
        ] {
            let found = fallbacks.of(&model(provider, id), &texts(&["own"]));
            assert_eq!(found, ["given", expected], "{provider}/{id}");
        }
        let none = Fallbacks::default();
        assert_eq!(none.of(&model("a", "b"), &texts(&["own"])), ["own"]);
    }

    #[test]
    fn a_cycle_ends() {
        let mut chain = Chain::default();
        let (a, b) = (model("p", "a"), model("p", "b"));
        chain.failed(&a, texts(&["p/b"]));
        assert_eq!(chain.next_name().as_deref(), Some("p/b"));
        chain.failed(&b, texts(&["p/a", "p/b"]));
        assert_eq!(chain.next_name().as_deref(), Some("p/a"));
        assert_eq!(chain.next_name(), None, "p/b was named before");
        assert!(!chain.is_new(&a) && !chain.is_new(&b) && !chain.has_more());
    }
}
