//! Copying in fullscreen mode: the text as it was written, not as it was laid out.

use serde_json::json;

use super::emulator::{Profile, Size};
use super::home::Home;
use super::program::Screen;

const SIZE: Size = Size::new(60, 30);

/// Drags from the first row that contains a text to the last column of the row with another.
fn drag(screen: &mut Screen, from: &str, to: &str) {
    let row = |text: &str| {
        let rows = screen.emulator.rows();
        rows.iter().position(|row| row.text.contains(text)).unwrap() + 1
    };
    let (first, last) = (row(from), row(to));
    screen.text(&format!("\x1b[<0;2;{first}M\x1b[<32;59;{last}M\x1b[<0;59;{last}m"));
}

fn copied(text: &str, from: &str, to: &str) -> String {
    let home = Home::with_scripts(&json!({"copy": [[{"text": text}]]}));
    let mut command = home.command(&["--tui-mode", "fullscreen"]);
    command.env("PI_CLIPBOARD_OSC52", "1");
    let mut screen = Screen::start(&command, SIZE, Profile::MODERN);
    screen.wait_for("fake-1");
    screen.submit("copy");
    screen.wait_for("CH81");
    drag(&mut screen, from, to);
    screen.wait_until("a copy", |emulator| !emulator.requests().clipboard.is_empty());
    screen.emulator.requests().clipboard.remove(0)
}

#[test]
fn wrapped_rows_are_joined_and_padding_is_left_out() {
    let long = "START of a paragraph that is so long that it has to be wrapped twice on a terminal of \
                sixty columns until its END";
    let cases = [
        (long, "START", "END", long),
        ("```\n  START\n    kept\n  END\n```\n", "START", "END", "  START\n    kept\n  END"),
        ("> START quoted\n> END\n", "START", "END", "START quoted\nEND"),
    ];
    for (text, from, to, expected) in cases {
        let copied = copied(text, from, to);
        // The drag begins at the first column of the text.
        assert_eq!(copied.trim_end(), expected.trim_end(), "{text:?}");
    }
}
