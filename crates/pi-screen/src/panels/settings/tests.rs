//! Tests of the settings screen: rows, values, submenus.

use std::sync::Arc;

use pi_ai::Model;
use pi_config::SettingsStore;
use pi_config::settings::check_setting;
use pi_tui::input::{Input, Key, Keymap};
use pi_tui::{Theme, View};
use serde_json::{Map, Value, json};

use super::super::super::keys::DEFAULTS;
use super::super::super::panel::{Panel, PanelEvent};
use super::{Answer, Options, SettingsPanel, table};

fn keymap() -> Keymap {
    Keymap::with_defaults(pi_tui::input::defaults::Platform::Unix, &[DEFAULTS])
}

fn store(settings: Value) -> SettingsStore {
    let Value::Object(settings) = settings else { return SettingsStore::in_memory(Map::new()) };
    SettingsStore::in_memory(settings)
}

fn panel(settings: Value) -> SettingsPanel {
    let model = Model {
        provider: "fake".to_owned(),
        id: "fake-1".to_owned(),
        name: "Fake One".to_owned(),
        reasoning: true,
        ..Model::default()
    };
    SettingsPanel::new(Options {
        store: &store(settings),
        has_images: false,
        mode: Default::default(),
        theme: "system".to_owned(),
        themes: ["system", "dark", "light"].map(str::to_owned).to_vec(),
        models: vec![Arc::new(model)],
        keymap: &keymap(),
    })
}

/// Presses keys, and returns the answers.
fn press(panel: &mut SettingsPanel, keys: &str) -> Vec<Answer> {
    let keymap = keymap();
    let mut answers = Vec::new();
    for word in keys.split(' ') {
        let inputs: Vec<Input> = match word.strip_prefix('\'') {
            Some(text) => text.chars().map(|it| Input::Key(Key::typed(it))).collect(),
            None => {
                let id: pi_tui::input::KeyId = word.parse().unwrap();
                vec![Input::Key(Key::new(id.code, id.modifiers))]
            }
        };
        for input in inputs {
            if let PanelEvent::Do(answer) = panel.handle(&input, &keymap) {
                answers.push(answer);
            }
        }
    }
    answers
}

fn screen(panel: &mut SettingsPanel, width: usize) -> String {
    let theme = Theme::plain();
    let view = View { width, rows: 30, theme: &theme };
    let lines = panel.render(view);
    assert!(lines.iter().all(|line| line.width() <= width));
    lines.iter().map(|line| line.text().trim_end().to_owned() + "\n").collect()
}

fn set(path: &str, value: Value) -> Answer {
    Answer::Set { path: path.split('.').map(str::to_owned).collect(), value: Some(value) }
}

#[test]
fn every_row_is_in_a_group() {
    let rows = table::settings(&store(json!({})), true);
    let alone: Vec<&str> =
        rows.iter().filter(|row| row.group.is_empty()).map(|row| row.id.as_str()).collect();
    assert_eq!(alone, [""; 0]);
}

/// Every value that the screen can store is valid in the file.
#[test]
fn all_values_are_valid() {
    for setting in table::settings(&store(json!({})), true) {
        for shown in &setting.values {
            let value = table::stored(&setting.id, shown);
            let checked = check_setting(&table::path(&setting.id), &value);
            assert_eq!(checked, Ok(()), "{} {shown}", setting.id);
        }
        let is_listed = setting.values.is_empty() || setting.values.contains(&setting.value);
        assert!(is_listed, "the default of {} is {}", setting.id, setting.value);
    }
}

#[test]
fn a_key_takes_the_next_value_and_stores_it_as_the_file_has_it() {
    let cases = [
        ("'steer enter", set("steeringMode", json!("all"))),
        ("'autocomplete enter", set("autocompleteMaxVisible", json!(7))),
        ("down space", set("tuiMode", json!("regular"))),
        ("'idle enter", set("httpIdleTimeoutMs", json!(0))),
        ("'trust enter", set("defaultProjectTrust", json!("always"))),
        ("'quiet enter", set("quietStartup", json!(true))),
        ("'wheel enter", set("fullscreenWheelScrollLines", json!(1))),
        ("'vim enter", set("vimMode", json!(true))),
        ("'warnings enter enter", set("warnings.anthropicExtraUsage", json!(false))),
    ];
    for (keys, expected) in cases {
        assert_eq!(press(&mut panel(json!({})), keys), [expected], "{keys}");
    }
}

#[test]
fn values_of_the_file_are_shown() {
    let mut panel = panel(json!({
        "editorPaddingX": 2,
        "httpIdleTimeoutMs": 12345,
        "defaultProjectTrust": "never",
        "modelThinkingLevels": { "a/b": "low", "c/d": "off" },
    }));
    press(&mut panel, "'padding");
    assert!(screen(&mut panel, 80).contains("Editor padding                    2"));
    for (search, shown) in
        [("idle", "12345"), ("project", "Never trust"), ("per model", "2 models")]
    {
        press(&mut panel, "ctrl+u");
        press(&mut panel, &format!("'{}", search.replace(' ', "")));
        assert!(screen(&mut panel, 80).contains(shown), "{shown}");
    }
}

#[test]
fn the_screen_at_the_beginning() {
    insta::assert_snapshot!(screen(&mut panel(json!({})), 80));
}

#[test]
fn themes_are_previewed_and_restored() {
    let mut panel = panel(json!({}));
    let preview = |name: &str| Answer::Preview(name.to_owned());
    let moved = press(&mut panel, "'theme enter down down escape");
    assert_eq!(moved, [preview("system/system"), preview("dark"), preview("system")]);
    let chosen = press(&mut panel, "enter down down enter");
    assert_eq!(chosen.last(), Some(&set("theme", json!("dark"))));
    let pair = press(&mut panel, "enter up enter down enter down enter");
    assert_eq!(pair.last(), Some(&set("theme", json!("dark/light"))));
    assert!(screen(&mut panel, 80).contains("dark/light"));
}

#[test]
fn a_pair_of_themes_is_chosen_in_two_steps() {
    let mut panel = panel(json!({}));
    press(&mut panel, "'theme enter down enter");
    insta::assert_snapshot!(screen(&mut panel, 80));
}

#[test]
fn a_model_gets_a_level_and_loses_it() {
    let mut panel = panel(json!({}));
    let model = vec!["modelThinkingLevels".to_owned(), "fake/fake-1".to_owned()];
    press(&mut panel, "'permodel enter enter");
    insta::assert_snapshot!(screen(&mut panel, 80));
    let chosen = press(&mut panel, "down down enter");
    assert_eq!(chosen, [Answer::Set { path: model.clone(), value: Some(json!("low")) }]);
    let cleared = press(&mut panel, "enter down down down enter");
    assert_eq!(cleared, [Answer::Set { path: model, value: None }]);
}
