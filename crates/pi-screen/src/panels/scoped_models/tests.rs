//! Tests of the scope: order, toggling, what is stored.

use std::sync::Arc;

use pi_ai::{Model, ThinkingLevel};
use pi_coding_agent::session::ScopedModel;

use super::scope::Scope;

fn model(provider: &str, id: &str) -> Arc<Model> {
    Arc::new(Model {
        provider: provider.to_owned(),
        id: id.to_owned(),
        name: format!("Name of {id}"),
        ..Model::default()
    })
}

fn models() -> Vec<Arc<Model>> {
    vec![model("a", "one"), model("a", "two"), model("b", "three")]
}

fn scoped(model: Arc<Model>, level: Option<ThinkingLevel>) -> ScopedModel {
    ScopedModel { model, thinking_level: level }
}

/// Returns the entries, enabled ones with a mark.
fn entries(scope: &Scope) -> Vec<String> {
    let mark = |is_enabled| if is_enabled { "+" } else { "-" };
    scope
        .entries()
        .iter()
        .map(|entry| format!("{}{}", mark(entry.is_enabled), entry.pattern))
        .collect()
}

#[test]
fn without_a_scope_all_models_are_enabled_and_nothing_is_stored() {
    let mut scope = Scope::new(Vec::new(), models(), &[]);
    assert_eq!(entries(&scope), ["+a/one", "+a/two", "+b/three"]);
    assert_eq!(scope.patterns(), None);
    scope.toggle(0);
    assert_eq!(entries(&scope), ["+a/two", "+b/three", "-a/one"]);
    assert_eq!(scope.patterns().unwrap(), ["a/two", "b/three"]);
    scope.toggle(2);
    assert_eq!(entries(&scope), ["+a/two", "+b/three", "+a/one"]);
}

#[test]
fn the_order_is_kept_and_stored() {
    let mut scope = Scope::new(Vec::new(), models(), &[]);
    assert_eq!(scope.reorder(0, true), None, "the first one stays");
    assert_eq!(scope.reorder(0, false), Some(1));
    assert_eq!(scope.patterns().unwrap(), ["a/two", "a/one", "b/three"]);
    assert_eq!(scope.models().len(), 3);
    scope.toggle(2);
    assert_eq!(scope.reorder(1, false), None, "disabled ones have no order");
}

#[test]
fn levels_and_unknown_entries_are_not_lost() {
    let models = models();
    let one = scoped(Arc::clone(&models[2]), Some(ThinkingLevel::High));
    let patterns = ["b/three:high".to_owned(), "gone/model".to_owned(), "x*".to_owned()];
    let mut scope = Scope::new(vec![one], models, &patterns);
    assert_eq!(entries(&scope), ["+b/three:high", "+gone/model", "-a/one", "-a/two"]);
    assert_eq!(scope.models().len(), 1);
    scope.toggle(2);
    assert_eq!(scope.patterns().unwrap(), ["b/three:high", "gone/model", "a/one"]);
}

#[test]
fn a_provider_is_toggled_as_a_whole() {
    let mut scope = Scope::new(Vec::new(), models(), &[]);
    scope.toggle_provider(0);
    assert_eq!(entries(&scope), ["+b/three", "-a/one", "-a/two"]);
    scope.toggle(1);
    scope.toggle_provider(1);
    assert_eq!(entries(&scope), ["+b/three", "+a/one", "+a/two"]);
}

#[test]
fn models_that_are_found_later_are_enabled_only_if_all_are() {
    let mut all = Scope::new(Vec::new(), models(), &[]);
    all.add(vec![model("local", "llama"), model("a", "one")]);
    assert_eq!(all.counts(), (4, 4));
    let mut some = Scope::new(vec![scoped(model("a", "one"), None)], models(), &[]);
    some.add(vec![model("local", "llama")]);
    assert_eq!(some.counts(), (1, 4));
}
