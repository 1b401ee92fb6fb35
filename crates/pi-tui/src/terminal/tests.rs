//! Tests of the terminal's modes, and of the questions at the start.

mod environment;

use super::start::{Change, Keyboard, Queries, Startup};
use super::*;
use crate::input::{Decoder, Event};
use crate::style::Rgb;
use crate::theme::{Appearance, TerminalColors};

const ALL: &[Mode] = &[
    Mode::Title,
    Mode::AlternateScreen,
    Mode::NoAutowrap,
    Mode::Mouse,
    Mode::MouseMotion,
    Mode::Focus,
    Mode::BracketedPaste,
    Mode::KittyKeyboard,
    Mode::ModifyOtherKeys,
    Mode::ColorScheme,
    Mode::HiddenCursor,
];

fn bytes(change: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    change(&mut out);
    String::from_utf8(out).unwrap().replace('\x1b', "␛")
}

#[test]
fn modes_are_taken_back_once_and_in_order() {
    let mut modes = Modes::default();
    let mut enabled = Vec::new();
    for mode in ALL {
        modes.enable(*mode, &mut enabled);
        modes.enable(*mode, &mut enabled);
    }
    let text = String::from_utf8(enabled).unwrap();
    assert_eq!(text.matches("\x1b[?1049h").count(), 1);
    // Mouse, focus, color scheme, paste, keyboard, autowrap, alternate screen, title, cursor.
    assert_eq!(
        bytes(|out| modes.restore(out)),
        "␛\\␛[?2026l␛[0m␛]8;;␛\\␛[?1003l␛[?1006l␛[?1002l␛[?1000l␛[?1004l␛[?2031l␛[?2004l␛[<u\
         ␛[>4;0m␛[?7h␛[?1049l␛[23;0t␛[?25h"
    );
    assert!(modes.is_empty());
    assert_eq!(bytes(|out| modes.restore(out)), "");
}

#[test]
fn keyboard_flags_move_to_the_other_screen() {
    let mut modes = Modes::default();
    let written = bytes(|out| {
        modes.enable(Mode::KittyKeyboard, out);
        modes.enable(Mode::AlternateScreen, out);
        modes.disable(Mode::AlternateScreen, out);
        modes.disable(Mode::KittyKeyboard, out);
        modes.disable(Mode::KittyKeyboard, out);
    });
    assert_eq!(written, "␛[>7u␛[<u␛[?1049h␛[>7u␛[<u␛[?1049l␛[>7u␛[<u");
}

#[test]
fn modes_can_be_switched_on_again() {
    let mut modes = Modes::default();
    let mut first = Vec::new();
    for mode in ALL {
        modes.enable(*mode, &mut first);
    }
    let before = modes;
    modes.restore(&mut Vec::new());
    for mode in before.iter() {
        modes.enable(mode, &mut Vec::new());
    }
    assert_eq!(modes, before);
}

const EVERYTHING: Queries = Queries { keyboard: true, colors: true, cell_size: true };

/// Decodes what a terminal answers and returns the changes.
fn answer(startup: &mut Startup, answers: &str) -> Vec<Change> {
    let mut events = Vec::new();
    Decoder::default().push(answers.as_bytes(), &mut events);
    let mut changes = Vec::new();
    for event in events {
        match event {
            Event::Reply(reply) => changes.extend(startup.answer(&reply)),
            Event::Input(input) => panic!("{input:?}"),
        }
    }
    changes
}

#[test]
fn questions_at_the_start() {
    let startup = Startup::new(EVERYTHING, TerminalColors::default());
    let questions = String::from_utf8(startup.questions()).unwrap();
    assert!(questions.starts_with("\x1b[?u\x1b]7501;?\x1b\\\x1b[c\x1b]10;?\x07\x1b]11;?\x07"));
    assert!(questions.ends_with("\x1b]4;15;?\x07\x1b[16t\x1b[c"));
    assert!(Startup::new(Queries::NONE, TerminalColors::default()).questions().is_empty());
}

#[test]
fn a_modern_terminal_answers() {
    let mut startup = Startup::new(EVERYTHING, TerminalColors::default());
    let kitty = Change::Keyboard { enable: None, disable: None };
    let first = answer(&mut startup, "\x1b[?7u\x1b]7501;1\x1b\\\x1b[?62;52c");
    assert_eq!(first, [kitty, Change::ProgramStatus]);
    assert!(startup.is_waiting() && startup.has_program_status());
    let colors = "\x1b]10;rgb:ff/ff/ff\x07\x1b]11;rgb:0/0/0\x07\x1b]4;1;rgb:ff/0/0\x07";
    let second = answer(&mut startup, &format!("{colors}\x1b[6;20;10t\x1b[?62;52c"));
    assert_eq!(second, [Change::CellSize, Change::Colors]);
    assert!(!startup.is_waiting());
    assert_eq!(startup.keyboard(), Keyboard::Kitty);
    assert_eq!(startup.colors().background, Some(Rgb(0, 0, 0)));
    assert_eq!(startup.colors().palette[1], Some(Rgb(255, 0, 0)));
    assert_eq!(startup.cell_size(), Some((10, 20)));
    // The desktop becomes light; the colors are asked for again.
    let change = answer(&mut startup, "\x1b[?997;2n");
    assert_eq!(change, [Change::Appearance(Appearance::Light)]);
    assert!(!startup.questions_about_colors().is_empty());
    let change = answer(&mut startup, "\x1b]11;rgb:ff/ff/ff\x07\x1b[?62c");
    assert_eq!(change, [Change::Colors]);
    assert_eq!(startup.colors().background, Some(Rgb(255, 255, 255)));
}

#[test]
fn an_old_terminal_answers_late() {
    let mut startup = Startup::new(EVERYTHING, TerminalColors::default());
    let fallback = Change::Keyboard { enable: Some(Mode::ModifyOtherKeys), disable: None };
    assert_eq!(answer(&mut startup, "\x1b[?1;2c"), [fallback]);
    assert_eq!(answer(&mut startup, "\x1b[?1;2c"), [Change::Colors]);
    // A color after all questions were answered still applies.
    assert_eq!(answer(&mut startup, "\x1b]11;rgb:0/0/0\x07"), [Change::Colors]);
    // So does the keyboard protocol.
    let late = Change::Keyboard { enable: None, disable: Some(Mode::ModifyOtherKeys) };
    assert_eq!(answer(&mut startup, "\x1b[?7u"), [late]);
    assert_eq!(startup.keyboard(), Keyboard::Kitty);
    assert_eq!(answer(&mut startup, "\x1b[?7u\x1b[?0u"), []);
    // A terminal that knows the protocol but did not switch it on.
    let mut startup = Startup::new(EVERYTHING, TerminalColors::default());
    assert_eq!(answer(&mut startup, "\x1b[?0u"), [fallback]);
}
