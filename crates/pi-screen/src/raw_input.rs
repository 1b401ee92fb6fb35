//! Input as a terminal sends it, for extensions that read raw sequences.
//!
//! The screen decodes input once; extensions get it encoded again, in the form that most terminals
//! share: legacy sequences where they exist, those of the kitty protocol for the rest.

use pi_tui::input::decoder::{Decoder, Event, Timing};
use pi_tui::input::{Input, Key, KeyCode, Modifiers};

/// Returns the sequence of an input; `None` for the mouse, which belongs to the screen.
pub(super) fn encode(input: &Input) -> Option<String> {
    match input {
        Input::Key(key) => Some(encode_key(key)),
        Input::Paste(text) => Some(format!("\u{1b}[200~{text}\u{1b}[201~")),
        Input::Focus(true) => Some("\u{1b}[I".to_owned()),
        Input::Focus(false) => Some("\u{1b}[O".to_owned()),
        _ => None,
    }
}

/// Returns the input of a sequence that an extension wrote.
pub(super) fn decode(data: &str) -> Vec<Input> {
    let mut decoder = Decoder::new(Timing::default());
    let mut events = Vec::new();
    decoder.push(data.as_bytes(), &mut events);
    decoder.flush(&mut events);
    let inputs = events.into_iter().filter_map(|event| match event {
        Event::Input(input) => Some(input),
        Event::Reply(_) => None,
    });
    inputs.collect()
}

fn encode_key(key: &Key) -> String {
    let held = key.modifiers;
    let without_shift = held.without(Modifiers::SHIFT);
    if let Some(text) = &key.text
        && without_shift == Modifiers::NONE
    {
        return text.clone();
    }
    let modifier = modifier(held);
    let plain = held == Modifiers::NONE;
    match key.code {
        KeyCode::Enter if plain => "\r".to_owned(),
        KeyCode::Tab if plain => "\t".to_owned(),
        KeyCode::Tab if held == Modifiers::SHIFT => "\u{1b}[Z".to_owned(),
        KeyCode::Escape if plain => "\u{1b}".to_owned(),
        KeyCode::Backspace if plain => "\u{7f}".to_owned(),
        KeyCode::Backspace if held == Modifiers::ALT => "\u{1b}\u{7f}".to_owned(),
        KeyCode::Space if plain => " ".to_owned(),
        KeyCode::Space if held == Modifiers::CTRL => "\0".to_owned(),
        KeyCode::Char(letter) if held == Modifiers::CTRL && letter.is_ascii_lowercase() => {
            char::from(letter as u8 - b'a' + 1).to_string()
        }
        KeyCode::Char(letter) if held == Modifiers::ALT => format!("\u{1b}{letter}"),
        KeyCode::Char(letter) if plain => letter.to_string(),
        code => match letter_of(code) {
            Some(letter) if plain => format!("\u{1b}[{letter}"),
            Some(letter) => format!("\u{1b}[1;{modifier}{letter}"),
            None => match number_of(code) {
                Some(number) if plain => format!("\u{1b}[{number}~"),
                Some(number) => format!("\u{1b}[{number};{modifier}~"),
                None => format!("\u{1b}[{};{modifier}u", code_point(code)),
            },
        },
    }
}

/// Returns the modifiers as sequences number them.
fn modifier(held: Modifiers) -> u8 {
    let bits =
        [(Modifiers::SHIFT, 1), (Modifiers::ALT, 2), (Modifiers::CTRL, 4), (Modifiers::SUPER, 8)];
    1 + bits.iter().filter(|(one, _)| held.contains(*one)).map(|(_, bit)| bit).sum::<u8>()
}

/// Returns the last letter of the sequence of a key.
fn letter_of(code: KeyCode) -> Option<char> {
    Some(match code {
        KeyCode::Up => 'A',
        KeyCode::Down => 'B',
        KeyCode::Right => 'C',
        KeyCode::Left => 'D',
        KeyCode::Home => 'H',
        KeyCode::End => 'F',
        _ => return None,
    })
}

/// Returns the number of the sequence of a key that ends with a tilde.
fn number_of(code: KeyCode) -> Option<u8> {
    Some(match code {
        KeyCode::Insert => 2,
        KeyCode::Delete => 3,
        KeyCode::PageUp => 5,
        KeyCode::PageDown => 6,
        KeyCode::F(number @ 1..=5) => 10 + number,
        KeyCode::F(number @ 6..=10) => 11 + number,
        KeyCode::F(number @ 11..=12) => 12 + number,
        _ => return None,
    })
}

/// Returns the number of a key in the kitty protocol.
fn code_point(code: KeyCode) -> u32 {
    match code {
        KeyCode::Char(letter) => letter as u32,
        KeyCode::Escape => 27,
        KeyCode::Enter => 13,
        KeyCode::Tab => 9,
        KeyCode::Space => 32,
        KeyCode::Backspace => 127,
        KeyCode::F(number) => 57363 + u32::from(number),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use pi_tui::input::KeyId;

    use super::*;

    /// What an extension gets is what the terminal sent: decoded again, it is the same key.
    #[test]
    fn encoded_keys_decode_to_themselves() {
        let names =
            ["up", "home", "end", "delete", "pageUp", "enter", "tab", "backspace", "escape"];
        let letters = ["a", "z", "f5", "f12", "space", "insert", "left"];
        let held = ["", "ctrl+", "alt+", "shift+", "ctrl+shift+", "ctrl+alt+", "super+"];
        for name in names.into_iter().chain(letters) {
            for held in held {
                let id: KeyId = format!("{held}{name}").parse().expect("a key");
                let key = Key::new(id.code, id.modifiers);
                let bytes = encode(&Input::Key(key.clone())).expect("a sequence");
                match decode(&bytes).as_slice() {
                    [Input::Key(decoded)] => {
                        assert_eq!(decoded.id(), key.id(), "{held}{name}: {bytes:?}");
                    }
                    other => panic!("{held}{name}: {bytes:?}: {other:?}"),
                }
            }
        }
    }

    #[test]
    fn text_and_pastes_are_what_was_typed() {
        for (input, expected) in [
            (Input::Key(Key::typed('é')), "é"),
            (Input::Key(Key::typed('A')), "A"),
            (Input::Key(Key::typed(' ')), " "),
            (Input::Paste("a\nb".to_owned()), "\u{1b}[200~a\nb\u{1b}[201~"),
        ] {
            assert_eq!(encode(&input).as_deref(), Some(expected));
        }
    }
}
