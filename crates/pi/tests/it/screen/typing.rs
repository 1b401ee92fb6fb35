//! Typing: what was typed is what happens, however fast it comes.

use super::emulator::{Profile, Size};
use super::home::Home;
use super::program::Screen;

const SIZE: Size = Size::new(80, 24);

fn ready(home: &Home) -> Screen {
    let mut screen = home.regular(SIZE);
    screen.wait_for("fake-1");
    screen
}

/// Returns the prompts that the model got.
fn prompts(home: &Home) -> Vec<String> {
    let requests = home.server.requests();
    let Some(last) = requests.last() else { return Vec::new() };
    let messages = last["messages"].as_array().unwrap().iter();
    let prompts = messages.filter(|message| message["role"] == "user");
    let text = |content: &serde_json::Value| match content {
        serde_json::Value::String(text) => text.clone(),
        parts => parts[0]["text"].as_str().unwrap_or_default().to_owned(),
    };
    prompts.map(|message| text(&message["content"])).collect()
}

#[test]
fn a_command_and_enter_in_one_write_run_the_command() {
    let cases = [
        ("/tree\r", "Session Tree"),
        ("/model\r", "Fake Two"),
        ("/settings\r", "Auto-compact"),
        ("/hotkeys\r", "alt+up/alt+q"),
        ("/thinking high\r", "fake-1 • high"),
        ("/name Fast\r", "• Fast"),
    ];
    for (input, expected) in cases {
        let home = Home::new();
        let mut screen = ready(&home);
        screen.submit("one");
        screen.wait_for("CH81.0%");
        screen.text(input);
        screen.wait_for(expected);
        assert_eq!(prompts(&home), ["one"], "{input:?}");
    }
}

#[test]
fn prompts_in_one_write_are_sent_in_order() {
    let home = Home::new();
    let mut screen = ready(&home);
    screen.text("one\rtwo\rthree\r");
    screen.wait_until("three answers", |_| home.server.requests().len() >= 2);
    screen.wait_until("all prompts", |_| prompts(&home).len() == 3);
    assert_eq!(prompts(&home), ["one", "two", "three"]);
}

#[test]
fn input_before_the_first_frame_is_kept() {
    let home = Home::new();
    let mut screen = Screen::start(&home.command(&["--tui-mode", "regular"]), SIZE, Profile::PLAIN);
    screen.text("early words");
    screen.wait_for("fake-1");
    screen.wait_for("early words");
    screen.key("enter");
    screen.wait_for("Hello from the model.");
    assert_eq!(prompts(&home), ["early words"]);
}

#[test]
fn answers_of_the_terminal_are_not_typed() {
    let home = Home::new();
    for profile in [Profile::PLAIN, Profile::MODERN] {
        let mut screen = Screen::start(&home.command(&["--tui-mode", "regular"]), SIZE, profile);
        screen.wait_for("fake-1");
        // Late answers, in pieces.
        for part in [
            "\x1b[?6",
            "c",
            "\x1b]11;rgb:1818/",
            "1818/1818\x07",
            "\x1b[?7u",
            "\x1b]4;1;rgb:bbbb/0000/0000\x1b\\",
        ] {
            screen.text(part);
        }
        screen.text("typed");
        screen.wait_for("typed");
        let rows = screen.emulator.rows();
        assert!(rows.iter().any(|row| row.text == "typed"), "{}", screen.shown());
    }
}

#[test]
fn a_large_paste_is_one_marker_and_arrives_whole() {
    let home = Home::new();
    let mut screen = ready(&home);
    let text: String = (0..20_000).map(|row| format!("row {row} of the paste\n")).collect();
    screen.paste(&text);
    screen.wait_for("[paste #1 +20001 lines]");
    screen.key("enter");
    screen.wait_for("Hello from the model.");
    assert_eq!(prompts(&home), [text.trim_end()]);
}

#[test]
fn the_key_of_a_login_is_not_shown() {
    let home = Home::new();
    let mut screen = ready(&home);
    screen.submit("/login groq");
    screen.wait_for("Groq");
    screen.wait_until("a field", |emulator| {
        emulator.rows().iter().any(|row| row.text.trim_start().starts_with('>'))
    });
    screen.text("sk-secret");
    screen.key("enter");
    screen.wait_for("auth.json");
    let raw = String::from_utf8_lossy(&screen.emulator.raw);
    assert!(!raw.contains("sk-secret"), "the key was shown");
    let stored = std::fs::read_to_string(home.path(".pi/agent/auth.json")).unwrap();
    assert!(stored.contains("sk-secret"));
}

#[test]
fn every_form_of_a_new_line_is_one_and_unknown_keys_are_nothing() {
    let forms = ["\x1b[27;2;13~", "\x1b[13;2~", "\x1b[13;2u", "\n", "\\\r"];
    for form in forms {
        let home = Home::new();
        let mut screen = ready(&home);
        screen.text("first");
        screen.text(form);
        screen.text("\x1b[99;77;5X\x1b[?99y\x1bOzsecond");
        screen.wait_for("second");
        let rows: Vec<String> = screen.emulator.rows().into_iter().map(|row| row.text).collect();
        let at = rows.iter().position(|row| row == "first");
        assert!(at.is_some_and(|at| rows[at + 1] == "second"), "{form:?}\n{}", screen.shown());
        screen.key("enter");
        screen.wait_for("Hello from the model.");
        assert_eq!(prompts(&home), ["first\nsecond"], "{form:?}");
    }
}
