//! Terminals of all kinds: dumb ones, small ones, without color, resized, for screen readers.

use serde_json::{Value, json};

use super::emulator::{Profile, Size};
use super::home::Home;
use super::program::Screen;
use super::sequences::sequences;

const SIZE: Size = Size::new(80, 24);

/// A script `numbered` with an answer of numbered lines.
fn numbered(count: usize) -> Value {
    let rows: Vec<String> = (1..=count).map(|row| format!("- item {row:03}.")).collect();
    json!({"numbered": [[{"text": rows.join("\n")}]]})
}

#[test]
fn a_dumb_terminal_gets_a_plain_prompt() {
    let home = Home::new();
    let mut command = home.command(&[]);
    command.env("TERM", "dumb");
    let mut screen = Screen::start(&command, SIZE, Profile::PLAIN);
    screen.wait_for("plain");
    screen.submit("one");
    screen.wait_for("Hello from the model.");
    screen.submit("bash-ok");
    screen.wait_for("Twelve lines.");
    screen.write(b"\x04");
    assert_eq!(screen.finish().code(), Some(0), "{}", screen.shown());
    let mut found = sequences(&screen.emulator.raw);
    // The bell at the end of an answer.
    found.remove("control 07");
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn accessible_output_is_linear() {
    let home = Home::new();
    let mut screen = Screen::start(&home.command(&["--accessible"]), SIZE, Profile::MODERN);
    screen.wait_until("the start", |emulator| !emulator.raw.is_empty());
    screen.submit("stream");
    screen.wait_for("First part");
    home.server.open("stream");
    screen.wait_for("second part");
    screen.submit("bash-ok");
    screen.wait_for("Twelve lines.");
    screen.write(b"\x04");
    assert_eq!(screen.finish().code(), Some(0), "{}", screen.shown());
    let raw = String::from_utf8_lossy(&screen.emulator.raw).into_owned();
    assert_eq!(raw.matches("Twelve lines.").count(), 1, "{raw}");
    assert!(!raw.contains(|letter| ('⠀'..='⣿').contains(&letter)), "spinner: {raw}");
    let found = sequences(&screen.emulator.raw);
    let moves: Vec<&String> =
        found.iter().filter(|one| one.starts_with("CSI ") && *one != "CSI m").collect();
    assert!(moves.is_empty(), "{moves:?}");
}

#[test]
fn no_color_means_no_color() {
    for mode in ["regular", "fullscreen"] {
        let home = Home::new();
        let mut command = home.command(&["--tui-mode", mode]);
        command.env("NO_COLOR", "1").env("COLORTERM", "truecolor");
        let mut screen = Screen::start(&command, SIZE, Profile::MODERN);
        screen.wait_for("fake-1");
        screen.submit("bash-ok");
        screen.wait_for("Twelve lines.");
        for row in screen.emulator.rows().iter().chain(&screen.emulator.scrollback()) {
            for cell in &row.cells {
                let (text, background) = cell.style.layers();
                let colored = text.contains("fg") || background.contains("bg");
                assert!(!colored, "{mode}: {:?}: {text} {background}", row.text);
            }
        }
    }
}

#[test]
fn every_row_is_once_on_the_screen_or_above_after_resizes() {
    let home = Home::with_scripts(&numbered(60));
    let mut screen = home.regular(Size::new(100, 24));
    screen.wait_for("fake-1");
    screen.submit("numbered");
    screen.wait_for("item 060.");
    screen.wait_for("CH81.0%");
    for step in 0..20_usize {
        let size = Size::new(60 + (step * 37) % 60, 14 + (step * 11) % 20);
        let written = screen.emulator.raw.len();
        screen.resize(size);
        // A new frame, in which both borders of the editor have the new width.
        screen.wait_until(&format!("{size:?}"), |emulator| {
            if !emulator.raw[written..].windows(8).any(|part| part == b"\x1b[?2026l") {
                return false;
            }
            let rule = "─".repeat(size.columns);
            emulator.rows().iter().filter(|row| row.text == rule).count() == 2
        });
    }
    // An answer after all of it, so that nothing is left to draw.
    screen.submit("one");
    screen.wait_for("↑468");
    let rows = screen.emulator.scrollback().into_iter().chain(screen.emulator.rows());
    let text: Vec<String> = rows.map(|row| row.text).collect();
    for item in 1..=60 {
        let item = format!("item {item:03}.");
        let count = text.iter().filter(|row| row.contains(&item)).count();
        assert_eq!(count, 1, "{item}\n{}", text.join("\n"));
    }
    let raw = String::from_utf8_lossy(&screen.emulator.raw);
    assert!(!raw.contains("\x1b[3J"), "the scrollback was cleared");
}

#[test]
fn streaming_never_clears_or_rewrites_what_scrolled_away() {
    let pieces: Vec<Value> =
        (1..=300).map(|row| json!({"text": format!("- item {row:03}.\n")})).collect();
    let home = Home::with_scripts(&json!({"numbered": [pieces]}));
    let mut screen = home.regular(SIZE);
    screen.wait_for("fake-1");
    screen.submit("numbered");
    screen.wait_for("item 300.");
    screen.wait_for("CH81.0%");
    let rows = screen.emulator.scrollback().into_iter().chain(screen.emulator.rows());
    let items: Vec<String> = rows.map(|row| row.text).filter(|row| row.contains("item")).collect();
    let expected: Vec<String> = (1..=300).map(|row| format!(" - item {row:03}.")).collect();
    assert_eq!(items, expected);
    let found = sequences(&screen.emulator.raw);
    assert!(!found.contains("CSI 3J") && !found.contains("CSI 2J"), "{found:?}");
}

#[test]
fn text_before_the_program_stays() {
    let home = Home::new();
    let pi = env!("CARGO_BIN_EXE_pi");
    let script = format!("seq -f 'before %g' 1 30; {pi} --tui-mode regular; echo after");
    let command = home.command_of("/bin/sh".as_ref(), &["-c", &script]);
    let mut screen = Screen::start(&command, SIZE, Profile::PLAIN);
    screen.wait_for("fake-1");
    screen.submit("one");
    screen.wait_for("CH81.0%");
    screen.key("ctrl+d");
    screen.finish();
    let rows = screen.emulator.scrollback().into_iter().chain(screen.emulator.rows());
    let text: Vec<String> = rows.map(|row| row.text).collect();
    let before = text.iter().filter(|row| row.starts_with("before ")).count();
    assert_eq!(before, 30, "{}", text.join("\n"));
    assert_eq!(text.iter().filter(|row| *row == "after").count(), 1, "{}", text.join("\n"));
}

#[test]
fn small_and_large_terminals_work() {
    std::thread::scope(|scope| {
        for mode in ["regular", "fullscreen"] {
            for (columns, rows) in [(1, 1), (2, 3), (10, 5), (20, 8), (40, 15), (200, 50)] {
                scope.spawn(move || {
                    let home = Home::with_scripts(&numbered(30));
                    let size = Size::new(columns.max(2), rows);
                    let command = home.command(&["--tui-mode", mode]);
                    let mut screen = Screen::start(&command, size, Profile::PLAIN);
                    screen.wait_until("something", |emulator| emulator.switched(2026).is_some());
                    screen.submit("numbered");
                    assert!(
                        home.server.wait_for_requests(1, super::program::TIMEOUT),
                        "{mode} {columns}x{rows}\n{}",
                        screen.shown()
                    );
                    screen.signal("TERM");
                    assert_eq!(screen.finish().code(), Some(143), "{mode} {columns}x{rows}");
                    assert_eq!(screen.emulator.modes_left(), [0_u32; 0]);
                });
            }
        }
    });
}
