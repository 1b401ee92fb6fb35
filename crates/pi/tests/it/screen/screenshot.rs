//! The picture of the README: a session with a scripted model, drawn by the program itself.
//!
//! `cargo xtask screenshot` sets the variable that names the file.

use std::fmt::Write as _;

use serde_json::json;

use super::emulator::{Emulator, Glyph, Profile, Row, Size};
use super::program::Screen;
use crate::bad_input::ServerEnv;
use crate::scenarios::format::{Call, Part, Reply};

/// Size of the terminal in the picture.
const SIZE: Size = Size::new(92, 44);

/// Size of a cell, of the border and of the letters, in pixels.
const CELL: (f64, f64) = (8.4, 18.0);
const BORDER: f64 = 14.0;
const LETTERS: f64 = 14.0;

const BACKGROUND: &str = "#181818";
const TEXT: &str = "#d8d8d8";

/// Words of the session that the picture must show.
const WORDS: &[&str] = &["greet.sh", "Hello, world!", "Found it"];

fn call(id: &str, name: &str, args: serde_json::Value) -> Part {
    Part::Call(Call { id: id.to_owned(), name: name.to_owned(), args, pieces: None })
}

fn replies() -> Vec<Reply> {
    let edit = json!({
        "path": "greet.sh",
        "edits": [{ "oldText": "Helo, world!", "newText": "Hello, world!" }],
    });
    vec![
        Reply::Parts(vec![
            Part::Text("I will run the script first.".to_owned()),
            call("1", "bash", json!({ "command": "sh greet.sh" })),
        ]),
        Reply::Parts(vec![
            Part::Text("Found it: an *l* is missing.".to_owned()),
            call("2", "edit", edit),
        ]),
        Reply::Parts(vec![call("3", "bash", json!({ "command": "sh greet.sh" }))]),
        Reply::Text(
            "The script now prints `Hello, world!`. I changed **one line** of `greet.sh` and ran \
             it again to check."
                .to_owned(),
        ),
    ]
}

#[test]
fn the_picture_of_the_readme_shows_a_session() {
    let env = ServerEnv::new(replies());
    let script = "#!/bin/sh\n# Prints a greeting.\necho \"Helo, world!\"\n";
    std::fs::write(env.project().join("greet.sh"), script).unwrap();
    let mut command = env.command(&[]);
    command.env("PI_CODING_AGENT_DIR", env.agent()).env("COLORTERM", "truecolor");
    command.env("HOME", env.project().parent().unwrap()).env("TERM", "xterm-256color");
    let mut screen = Screen::start(&command, SIZE, Profile { kitty: false, colors: true });
    screen.wait_for("m1");
    screen.submit("greet.sh prints a misspelled greeting. Fix it and check the result.");
    screen.wait_until("the answer", |terminal| {
        let rows = terminal.rows();
        rows.iter().any(|row| row.text.contains("ran it again"))
            && !rows.iter().any(|row| row.text.contains("Working"))
    });
    let picture = svg(&screen.emulator);
    for word in WORDS {
        assert!(picture.contains(word), "{word}");
    }
    if let Some(path) = std::env::var_os("PI_SCREENSHOT") {
        std::fs::write(path, picture).unwrap();
    }
    let stored = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/screen.svg");
    let stored = std::fs::read_to_string(stored).expect("run `cargo xtask screenshot`");
    for word in WORDS {
        assert!(stored.contains(word), "{word}: run `cargo xtask screenshot`");
    }
}

/// Draws the cells of a terminal.
fn svg(terminal: &Emulator) -> String {
    let (width, height) =
        (SIZE.columns as f64 * CELL.0 + 2.0 * BORDER, SIZE.rows as f64 * CELL.1 + 2.0 * BORDER);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"ui-monospace, Menlo, Consolas, \
         'DejaVu Sans Mono', monospace\" font-size=\"{LETTERS}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n"
    );
    for (line, row) in terminal.rows().iter().enumerate() {
        draw(&mut out, row, BORDER + line as f64 * CELL.1);
    }
    out.push_str("</svg>\n");
    out
}

/// Draws a row: one element for the cells that look the same.
fn draw(out: &mut String, row: &Row, top: f64) {
    let mut cells = row.cells.iter().peekable();
    let mut column = 0;
    while let Some(first) = cells.next() {
        let start = column;
        let mut text = first.text.clone();
        column += first.width;
        while let Some(next) = cells.next_if(|next| next.style == first.style) {
            text.push_str(&next.text);
            column += next.width;
        }
        run(out, first, &text, (start, column), top);
    }
}

fn run(out: &mut String, first: &Glyph, text: &str, (from, to): (usize, usize), top: f64) {
    let (on_text, on_cell) = first.style.layers();
    let (mut ink, mut paper) = (color(&on_text, "fg"), color(&on_cell, "bg"));
    if first.style.is_inverse() {
        let text = ink.take().unwrap_or_else(|| TEXT.to_owned());
        ink = Some(paper.take().unwrap_or_else(|| BACKGROUND.to_owned()));
        paper = Some(text);
    }
    let (left, width) = (BORDER + from as f64 * CELL.0, (to - from) as f64 * CELL.0);
    if let Some(paper) = paper {
        let height = CELL.1;
        let _ = writeln!(
            out,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height}\" fill=\"{paper}\"/>"
        );
    }
    if text.trim().is_empty() {
        return;
    }
    let mut look = format!("fill=\"{}\"", ink.as_deref().unwrap_or(TEXT));
    for (word, attribute) in [
        ("bold", " font-weight=\"bold\""),
        ("italic", " font-style=\"italic\""),
        ("dim", " opacity=\"0.6\""),
    ] {
        if on_text.split(' ').any(|one| one == word) {
            look.push_str(attribute);
        }
    }
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let base = top + CELL.1 * 0.75;
    let _ = writeln!(
        out,
        "<text x=\"{left:.1}\" y=\"{base:.1}\" textLength=\"{width:.1}\" xml:space=\"preserve\" {look}>{text}</text>"
    );
}

/// Returns a color of a style such as `fg #aabbcc bold` or `bg 4`.
fn color(style: &str, layer: &str) -> Option<String> {
    let mut words = style.split(' ').skip_while(|word| *word != layer).skip(1);
    let word = words.next()?;
    if word.starts_with('#') {
        return Some(word.to_owned());
    }
    let index: u32 = word.parse().ok()?;
    let channel = |on: bool, bright: bool| match (on, bright) {
        (true, true) => 0xff,
        (true, false) => 0xbb,
        (false, true) => 0x55,
        (false, false) => 0,
    };
    let (r, g, b) = match index {
        0..16 => {
            let bright = index >= 8;
            (
                channel(index & 1 != 0, bright),
                channel(index & 2 != 0, bright),
                channel(index & 4 != 0, bright),
            )
        }
        16..232 => {
            let level = |part: u32| if part == 0 { 0 } else { 55 + 40 * part };
            let cube = index - 16;
            (level(cube / 36), level(cube / 6 % 6), level(cube % 6))
        }
        _ => {
            let gray = 8 + 10 * index.saturating_sub(232).min(23);
            (gray, gray, gray)
        }
    };
    Some(format!("#{r:02x}{g:02x}{b:02x}"))
}
