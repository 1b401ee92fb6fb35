//! Tests of the model selector: order, search, scope, what is chosen.

use std::sync::Arc;

use pi_ai::Model;

use super::super::super::panel::PanelEvent;
use super::super::testing::{keymap, press, shown};
use super::{Answer, Found, ModelPanel, Options};

fn model(provider: &str, id: &str) -> Arc<Model> {
    Arc::new(Model {
        provider: provider.to_owned(),
        id: id.to_owned(),
        name: format!("Name of {id}"),
        ..Model::default()
    })
}

fn panel(scoped: Vec<Arc<Model>>, search: &str) -> (ModelPanel, Found) {
    let found = Found::default();
    let available = vec![model("b", "four"), model("a", "one"), model("a", "two")];
    let panel = ModelPanel::new(Options {
        available: available.into_iter().chain([model("c", "three")]).collect(),
        scoped,
        current: Some(model("c", "three")),
        default: Some(("b".to_owned(), "four".to_owned())),
        search,
        found: Found::clone(&found),
        keymap: &keymap(),
    });
    (panel, found)
}

fn rows(panel: &mut ModelPanel, width: usize) -> Vec<String> {
    shown(panel, width, 30).lines().map(str::to_owned).collect()
}

fn models(panel: &mut ModelPanel) -> Vec<String> {
    rows(panel, 80).into_iter().filter(|row| row.contains('[')).collect()
}

#[test]
fn the_current_model_is_first_then_the_default_then_the_others_by_provider() {
    let (mut panel, _) = panel(Vec::new(), "");
    assert_eq!(
        models(&mut panel),
        [
            "→ ✓ three (Name of three) [c]",
            "    four (Name of four) [b] · default",
            "    one (Name of one) [a]",
            "    two (Name of two) [a]",
        ]
    );
    for width in [1, 10, 40] {
        rows(&mut panel, width);
    }
}

#[test]
fn enter_chooses_for_the_session_and_another_key_as_the_default() {
    let (mut panel, _) = panel(Vec::new(), "b/fo");
    assert_eq!(models(&mut panel), ["→   four (Name of four) [b] · default"]);
    let PanelEvent::Close(Some(Answer::Use(chosen))) = press(&mut panel, "enter") else {
        panic!("not chosen")
    };
    assert_eq!(chosen.id, "four");
    assert!(matches!(
        press(&mut panel, "ctrl+s"),
        PanelEvent::Close(Some(Answer::UseAsDefault(_)))
    ));
    assert!(matches!(press(&mut panel, "escape"), PanelEvent::Close(None)));
    press(&mut panel, "\"nothing");
    assert!(
        !matches!(press(&mut panel, "enter"), PanelEvent::Close(_)),
        "there is nothing to choose"
    );
}

#[test]
fn models_of_the_scope_without_a_key_are_marked_and_not_chosen() {
    let (mut panel, _) = panel(vec![model("a", "two"), model("x", "locked")], "");
    assert_eq!(
        models(&mut panel),
        ["→   two (Name of two) [a]", "    locked (Name of locked) [x] · no key"]
    );
    press(&mut panel, "down");
    assert!(matches!(press(&mut panel, "enter"), PanelEvent::Do(Answer::NoKey(_))));
    press(&mut panel, "tab");
    assert_eq!(models(&mut panel).len(), 4);
}

#[test]
fn models_that_are_found_meanwhile_keep_the_selected_row() {
    let (mut panel, found) = panel(Vec::new(), "");
    press(&mut panel, "down");
    assert!(rows(&mut panel, 80).iter().any(|row| row.contains("Looking for")));
    *found.borrow_mut() = Some(vec![
        model("a", "one"),
        model("a", "zero"),
        model("b", "four"),
        model("c", "three"),
        model("ollama", "llama"),
    ]);
    let shown = models(&mut panel);
    assert_eq!(shown.len(), 5);
    assert!(shown[1].starts_with("→   four"), "{shown:?}");
    assert!(!rows(&mut panel, 80).iter().any(|row| row.contains("Looking for")));
}
