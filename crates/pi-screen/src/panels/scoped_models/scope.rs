//! The models to cycle through, in their order, and those that could be added.

use std::sync::Arc;

use pi_ai::{Model, ThinkingLevel};
use pi_coding_agent::session::ScopedModel;

/// A model, or an entry of `enabledModels` that names none.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    /// The entry of `enabledModels`: `provider/id`, with `:level` if one was named.
    pub(super) pattern: String,
    /// `None` if the pattern matches no model that can be used.
    pub(super) model: Option<Arc<Model>>,
    pub(super) level: Option<ThinkingLevel>,
    pub(super) is_enabled: bool,
}

impl Entry {
    fn of(model: Arc<Model>, level: Option<ThinkingLevel>, is_enabled: bool) -> Self {
        let suffix = level.map(|level| format!(":{}", level.as_str())).unwrap_or_default();
        let pattern = format!("{}/{}{suffix}", model.provider, model.id);
        Self { pattern, model: Some(model), level, is_enabled }
    }

    pub(super) fn search_text(&self) -> String {
        match &self.model {
            Some(model) => format!("{} {}", self.pattern, model.name),
            None => self.pattern.clone(),
        }
    }

    /// Returns the line below the list.
    pub(super) fn explanation(&self) -> String {
        match (&self.model, self.level) {
            (Some(model), None) => format!("Model Name: {}", model.name),
            (Some(model), Some(level)) => {
                format!("Model Name: {} · thinking {}", model.name, level.as_str())
            }
            (None, _) => "No model with a key matches this entry of the settings".to_owned(),
        }
    }

    fn provider(&self) -> Option<&str> {
        self.model.as_ref().map(|model| model.provider.as_str())
    }
}

/// The entries: enabled ones first, in the order of cycling.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Scope {
    entries: Vec<Entry>,
    /// The user changed the order.
    is_ordered: bool,
}

impl Scope {
    /// Creates the scope of a session. Without one, all models are enabled. `patterns` are those
    /// of the settings; one that matches nothing is kept, so that saving does not lose it.
    pub(crate) fn new(
        scoped: Vec<ScopedModel>,
        available: Vec<Arc<Model>>,
        patterns: &[String],
    ) -> Self {
        let all_enabled = scoped.is_empty();
        let mut entries: Vec<Entry> =
            scoped.into_iter().map(|one| Entry::of(one.model, one.thinking_level, true)).collect();
        let unknown = patterns.iter().filter(|pattern| !matches_any(pattern, &available));
        entries.extend(unknown.map(|pattern| Entry {
            pattern: pattern.clone(),
            model: None,
            level: None,
            is_enabled: true,
        }));
        let mut scope = Self { entries, is_ordered: false };
        scope.add_as(available, all_enabled);
        scope
    }

    /// Adds models that were found later. They are not enabled, unless all are.
    pub(super) fn add(&mut self, models: Vec<Arc<Model>>) {
        let all_enabled = self.entries.iter().all(|entry| entry.is_enabled);
        self.add_as(models, all_enabled);
    }

    fn add_as(&mut self, models: Vec<Arc<Model>>, is_enabled: bool) {
        for model in models {
            let is_same = |entry: &Entry| {
                entry
                    .model
                    .as_ref()
                    .is_some_and(|other| other.provider == model.provider && other.id == model.id)
            };
            if !self.entries.iter().any(is_same) {
                self.entries.push(Entry::of(model, None, is_enabled));
            }
        }
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the numbers of enabled entries and of all.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.entries.iter().filter(|entry| entry.is_enabled).count(), self.entries.len())
    }

    /// Enables or disables entries.
    pub(super) fn set(&mut self, at: &[usize], is_enabled: bool) {
        // Newly enabled ones come after the others, in the order in which they are listed.
        for (index, entry) in self.entries.iter_mut().enumerate() {
            if at.contains(&index) {
                entry.is_enabled = is_enabled;
            }
        }
        self.entries.sort_by_key(|entry| !entry.is_enabled);
    }

    pub(super) fn toggle(&mut self, at: usize) {
        if let Some(entry) = self.entries.get(at) {
            let is_enabled = !entry.is_enabled;
            self.set(&[at], is_enabled);
        }
    }

    /// Enables all models of the provider of an entry, or disables them if all are enabled.
    pub(super) fn toggle_provider(&mut self, at: usize) {
        let provider = self.entries.get(at).and_then(Entry::provider).map(str::to_owned);
        let Some(provider) = provider else { return };
        let of_provider: Vec<usize> = (0..self.entries.len())
            .filter(|index| self.entries.get(*index).and_then(Entry::provider) == Some(&provider))
            .collect();
        let enabled = |index: &usize| self.entries.get(*index).is_some_and(|it| it.is_enabled);
        let is_enabled = !of_provider.iter().all(enabled);
        self.set(&of_provider, is_enabled);
    }

    /// Moves an enabled entry by one place, and returns the place; `None` if it cannot move.
    pub(super) fn reorder(&mut self, at: usize, up: bool) -> Option<usize> {
        let to = if up { at.checked_sub(1)? } else { at + 1 };
        let is_enabled = |index: usize| self.entries.get(index).is_some_and(|it| it.is_enabled);
        if !is_enabled(at) || !is_enabled(to) {
            return None;
        }
        self.entries.swap(at, to);
        self.is_ordered = true;
        Some(to)
    }

    /// Returns the models to cycle through; none if that is all of them.
    pub(super) fn models(&self) -> Vec<ScopedModel> {
        if self.is_everything() {
            return Vec::new();
        }
        let enabled = self.entries.iter().filter(|entry| entry.is_enabled);
        let scoped = enabled.filter_map(|entry| {
            Some(ScopedModel { model: entry.model.clone()?, thinking_level: entry.level })
        });
        scoped.collect()
    }

    /// Returns the value of `enabledModels`; `None` if nothing is left out.
    pub(super) fn patterns(&self) -> Option<Vec<String>> {
        if self.is_everything() {
            return None;
        }
        let enabled = self.entries.iter().filter(|entry| entry.is_enabled);
        Some(enabled.map(|entry| entry.pattern.clone()).collect())
    }

    /// Returns true if the scope leaves nothing out, has no order of its own, and no levels.
    fn is_everything(&self) -> bool {
        let (enabled, all) = self.counts();
        let has_levels = self.entries.iter().any(|entry| entry.level.is_some());
        let has_unknown = self.entries.iter().any(|entry| entry.model.is_none());
        enabled == 0 || (enabled == all && !has_levels && !has_unknown && !self.is_ordered)
    }
}

/// Returns true if a pattern of the settings may match one of the models. Globs are taken to match.
fn matches_any(pattern: &str, models: &[Arc<Model>]) -> bool {
    let (name, level) = pattern.rsplit_once(':').unwrap_or((pattern, ""));
    let name = if level.parse::<ThinkingLevel>().is_ok() { name } else { pattern };
    let name = name.to_lowercase();
    let is_glob = name.contains(['*', '?', '[']);
    is_glob
        || models.iter().any(|model| {
            let text = format!("{}/{} {}", model.provider, model.id, model.name);
            text.to_lowercase().contains(&name)
        })
}
