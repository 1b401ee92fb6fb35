//! The output, counted: slow connections pay for every byte, and an idle program writes none.

use std::time::Duration;

use serde_json::json;

use super::emulator::{Profile, Size};
use super::home::Home;
use super::program::Screen;
use super::sequences::sequences;

const SIZE: Size = Size::new(120, 40);

fn ready(home: &Home, mode: &str) -> Screen {
    let mut screen = Screen::start(&home.command(&["--tui-mode", mode]), SIZE, Profile::PLAIN);
    screen.wait_for("fake-1");
    screen.submit("lists");
    screen.wait_for("CH81.0%");
    screen.settle(Duration::from_millis(100));
    screen
}

#[test]
fn a_key_writes_little_and_idling_nothing() {
    for mode in ["regular", "fullscreen"] {
        let home = Home::new();
        let mut screen = ready(&home, mode);
        let written = screen.emulator.raw.len();
        screen.settle(Duration::from_millis(300));
        assert_eq!(screen.emulator.raw.len(), written, "{mode}: output while idle");
        for letter in ["a", "b", "c", " ", "d"] {
            let written = screen.emulator.raw.len();
            screen.text(letter);
            screen.wait_until("output", |emulator| emulator.raw.len() > written);
            screen.settle(Duration::from_millis(30));
            let output = &screen.emulator.raw[written..];
            let text = String::from_utf8_lossy(output);
            assert!(output.len() <= 200, "{mode}: {} bytes for {letter:?}: {text:?}", output.len());
        }
    }
}

#[test]
fn waiting_writes_little() {
    for mode in ["regular", "fullscreen"] {
        let home = Home::new();
        let mut screen = ready(&home, mode);
        screen.submit("stream");
        screen.wait_for("First part");
        let written = screen.emulator.raw.len();
        // The spinner, for half a second.
        screen.settle(Duration::from_millis(100));
        let bytes = screen.emulator.raw.len() - written;
        assert!(bytes <= 10 * 100, "{mode}: {bytes} bytes in half a second of waiting");
    }
}

#[test]
fn a_frame_is_one_synchronized_update_without_queries() {
    for mode in ["regular", "fullscreen"] {
        let home = Home::new();
        let mut screen = ready(&home, mode);
        let written = screen.emulator.raw.len();
        screen.submit("long");
        screen.wait_for("Last line.");
        screen.wait_for("↑468");
        screen.settle(Duration::from_millis(50));
        let raw = &screen.emulator.raw[written..];
        let text = String::from_utf8_lossy(raw);
        assert_eq!(text.matches("\x1b[?2026h").count(), text.matches("\x1b[?2026l").count());
        for part in text.split("\x1b[?2026l") {
            let before = part.split("\x1b[?2026h").next().unwrap_or_default();
            assert_eq!(before, "", "{mode}: outside of an update");
        }
        let found = sequences(raw);
        for query in ["CSI n", "CSI c", "CSI ?u", "OSC 10", "OSC 11", "OSC 4", "CSI t"] {
            assert!(!found.contains(query), "{mode}: {query} after the start");
        }
    }
}

#[test]
fn a_long_answer_costs_what_it_adds() {
    let pieces: Vec<_> = (0..400).map(|row| json!({"text": format!("word {row} ")})).collect();
    let home = Home::with_scripts(&json!({"words": [pieces]}));
    for mode in ["regular", "fullscreen"] {
        let mut screen = ready(&home, mode);
        let written = screen.emulator.raw.len();
        screen.submit("words");
        screen.wait_for("word 399");
        screen.wait_for("↑468");
        let bytes = screen.emulator.raw.len() - written;
        // 3.5 kB of text; each frame may repeat its last row.
        assert!(bytes <= 120_000, "{mode}: {bytes} bytes");
    }
}
