//! Choosing models, thinking levels and settings: what is chosen is used and stored.

use serde_json::{Value, json};

use super::emulator::{Profile, Size};
use super::home::Home;
use super::program::Screen;

const SIZE: Size = Size::new(80, 30);

fn start(home: &Home) -> Screen {
    let mut screen = home.regular(SIZE);
    screen.wait_for("fake-1 • medium");
    screen
}

fn settings(home: &Home) -> Value {
    let text = std::fs::read_to_string(home.path(".pi/agent/settings.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_model_becomes_the_default() {
    let home = Home::new();
    let mut screen = start(&home);
    screen.submit("/model");
    screen.wait_for("Model Name: Fake One");
    screen.text("two");
    screen.wait_for("Model Name: Fake Two");
    screen.key("ctrl+s");
    screen.wait_for("Model: fake-2 (default)");
    assert_eq!(settings(&home)["defaultModel"], "fake-2");
    screen.submit("/model fake/fake-1");
    screen.wait_for("Model: fake-1");
    assert_eq!(settings(&home)["defaultModel"], "fake-2", "a switch is not stored");
}

#[test]
fn a_model_without_a_key_is_refused_with_the_reason() {
    let home = Home::new();
    let mut screen = start(&home);
    screen.submit("/model openai/gpt-4o");
    screen.wait_for("OPENAI_API_KEY");
    screen.wait_for("fake-1 • medium");
}

#[test]
fn a_thinking_level_is_set_and_stored() {
    let home = Home::new();
    let mut screen = start(&home);
    screen.submit("/thinking high");
    screen.wait_for("fake-1 • high");
    screen.submit("/thinking");
    screen.wait_for("Thinking Level");
    screen.text("low");
    screen.key("ctrl+s");
    screen.wait_for("fake-1 • low");
    assert_eq!(settings(&home)["defaultThinkingLevel"], "low");
    screen.submit("/thinking much");
    screen.wait_for("no thinking level `much`");
}

#[test]
fn models_to_cycle_through_are_stored_in_their_order() {
    let home = Home::new();
    home.settings(json!({ "enabledModels": ["gone/model", "fake-1"] }).as_object().unwrap());
    let mut screen = home.regular(SIZE);
    screen.wait_for("fake-1 • medium");
    screen.submit("/scoped-models");
    screen.wait_for("2/3 enabled");
    screen.key("up");
    screen.key("enter");
    screen.wait_for("3/3 enabled (unsaved)");
    screen.key("ctrl+s");
    screen.wait_for("are stored in your settings");
    let stored = settings(&home)["enabledModels"].clone();
    assert_eq!(stored, json!(["fake/fake-1", "gone/model", "fake/fake-2"]));
}

#[test]
fn a_setting_is_used_and_stored_at_once() {
    let home = Home::new();
    let mut screen = start(&home);
    screen.submit("/settings");
    screen.wait_for("Auto-compact");
    screen.text("auto-c");
    screen.wait_for("→ Auto-compact");
    screen.key("enter");
    screen.wait_for("Auto-compact                      false");
    screen.wait_gone("(auto)");
    assert_eq!(settings(&home)["compaction"]["enabled"], false);
}

#[test]
fn the_screen_changes_its_mode_and_loses_nothing() {
    let home = Home::new();
    let mut screen = start(&home);
    screen.submit("one");
    screen.wait_for("Hello from the model.");
    let switch = |screen: &mut Screen, alternate: bool| {
        screen.submit("/settings");
        screen.wait_for("Auto-compact");
        screen.text("tui");
        screen.wait_gone("Auto-compact");
        screen.key("enter");
        screen.wait_until("the other screen", |emulator| {
            emulator.switched(1049).unwrap_or(false) == alternate
        });
        let mode = if alternate { "fullscreen" } else { "regular" };
        screen.wait_for(&format!("→ TUI mode                          {mode}"));
        screen.key("escape");
        screen.wait_gone("TUI mode");
    };
    switch(&mut screen, true);
    screen.submit("two");
    screen.wait_for("two");
    switch(&mut screen, false);
    screen.wait_for("two");
    let rows = screen.emulator.scrollback().into_iter().chain(screen.emulator.rows());
    let rows: Vec<String> = rows.map(|row| row.text.trim().to_owned()).collect();
    for text in ["one", "two"] {
        let count = rows.iter().filter(|row| *row == text).count();
        assert_eq!(count, 1, "{text}\n{}", screen.shown());
    }
    assert_eq!(settings(&home)["tuiMode"], "regular");
}

#[test]
fn themes_that_an_extension_discovers_can_be_chosen() {
    let home = Home::new();
    home.write(
        "proj/themes.ts",
        "export default (pi) => pi.on('resources_discover', () => ({ themePaths: ['colors'] }))",
    );
    home.write("proj/colors/neon.json", "{}");
    let arguments = ["--tui-mode", "regular", "-e", "themes.ts"];
    let mut screen = Screen::start(&home.command(&arguments), SIZE, Profile::PLAIN);
    screen.wait_for("fake-1");
    screen.submit("/settings");
    screen.wait_for("Auto-compact");
    screen.text("theme");
    screen.key("enter");
    screen.wait_for("neon");
}

#[test]
fn a_theme_is_previewed_and_given_back() {
    let home = Home::new();
    let mut screen = Screen::start(
        &home.command(&["--tui-mode", "regular", "--use-theme", "dark"]),
        SIZE,
        Profile::PLAIN,
    );
    screen.wait_for("fake-1");
    screen.submit("/settings");
    screen.wait_for("Auto-compact");
    let border = |screen: &Screen| {
        let rows = screen.emulator.rows();
        rows.iter().find(|row| row.text.starts_with("──")).map(|row| format!("{row:?}"))
    };
    let dark = border(&screen);
    screen.text("theme");
    screen.key("enter");
    screen.wait_for("✓ dark");
    screen.key("down");
    screen.wait_for("→   light");
    assert_ne!(border(&screen), dark);
    screen.key("escape");
    screen.wait_gone("→   light");
    assert_eq!(border(&screen), dark);
    assert_eq!(settings(&home).get("theme"), None);
}
