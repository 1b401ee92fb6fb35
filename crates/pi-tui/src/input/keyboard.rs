//! Keys from the numbers of keyboard protocols: kitty's CSI u, xterm's modifyOtherKeys, and the
//! control characters of legacy terminals.

use super::key::{Key, KeyCode, KeyKind, Modifiers, lower_case};

/// The numbers of a key event in the kitty protocol.
#[derive(Debug, Default)]
pub(super) struct KittyKey {
    /// Code point of the key without modifiers.
    pub(super) code: u32,
    /// Code point of the key with Shift.
    pub(super) shifted: Option<u32>,
    /// Code point of the key at this place of a US keyboard.
    pub(super) base: Option<u32>,
    /// The encoded modifiers: 1 + bits.
    pub(super) modifiers: u32,
    /// 1 press, 2 repeat, 3 release.
    pub(super) event: u32,
    /// The text that the key types, if the terminal reports it.
    pub(super) text: String,
}

const CAPS_LOCK: u32 = 64;

/// Decodes the number of modifiers in a sequence. The locks are ignored; hyper and meta count as
/// super and alt, so that they never type text.
pub(super) fn modifiers(encoded: u32) -> Modifiers {
    let bits = encoded.saturating_sub(1);
    let table = [
        (1, Modifiers::SHIFT),
        (2, Modifiers::ALT),
        (4, Modifiers::CTRL),
        (8, Modifiers::SUPER),
        (16, Modifiers::SUPER),
        (32, Modifiers::ALT),
    ];
    table
        .into_iter()
        .filter(|(bit, _)| bits & bit != 0)
        .fold(Modifiers::NONE, |all, (_, modifier)| all | modifier)
}

/// Decodes the number of an event type.
pub(super) fn kind(event: u32) -> KeyKind {
    match event {
        2 => KeyKind::Repeat,
        3 => KeyKind::Release,
        _ => KeyKind::Press,
    }
}

impl KittyKey {
    /// Returns the key, or `None` for keys that have no name (media keys, modifiers alone).
    pub(super) fn decode(self) -> Option<Key> {
        let held = modifiers(self.modifiers);
        let kind = kind(self.event);
        let own_text = Some(self.text).filter(|text| !text.is_empty());
        let with_text = |code, modifiers, typed: Option<String>| {
            let text = if kind == KeyKind::Release || !types_text(held) { None } else { typed };
            Key { kind, text, ..Key::new(code, modifiers) }
        };
        if let Some((code, typed)) = functional(self.code) {
            return Some(with_text(code, held, own_text.or(typed.map(String::from))));
        }
        if self.code == 0 {
            // Text without a key, for example from an input method.
            let text = own_text?;
            let code = text.chars().next().map_or(KeyCode::Space, |c| Key::typed(c).code);
            return Some(with_text(code, held, Some(text)));
        }
        let character = printable(self.code)?;
        let shift = held.contains(Modifiers::SHIFT) || character.is_uppercase();
        let mut held = if shift { held | Modifiers::SHIFT } else { held };
        let shifted = self.shifted.and_then(printable);
        let caps = self.modifiers.saturating_sub(1) & CAPS_LOCK != 0 && character.is_alphabetic();
        let typed = match (shift, caps) {
            (true, true) => lower_case(character),
            (true, false) => shifted.unwrap_or_else(|| upper_case(character)),
            (false, true) => upper_case(character),
            (false, false) => character,
        };
        let mut code = lower_case(character);
        match (self.base.and_then(printable), shifted) {
            // Bindings name Latin letters; a Cyrillic or Greek layout still has them by place.
            (Some(base), _) if !is_latin(character) => code = lower_case(base),
            // A symbol is one key, however it is reached: `?`, not shift and `/`.
            (_, Some(symbol)) if shift && !symbol.is_alphabetic() => {
                code = symbol;
                held = held.without(Modifiers::SHIFT);
            }
            _ => {}
        }
        Some(with_text(KeyCode::Char(code), held, own_text.or(Some(typed.to_string()))))
    }
}

/// Decodes `CSI 27 ; modifiers ; code ~`, in which the code is that of the shifted character.
pub(super) fn modify_other_keys(encoded: u32, code: u32) -> Option<Key> {
    let held = modifiers(encoded);
    let (code, held, typed) = match functional(code) {
        Some((code, typed)) => (code, held, typed),
        None => {
            let character = printable(code)?;
            let held = match character {
                upper if upper.is_uppercase() => held | Modifiers::SHIFT,
                letter if letter.is_alphabetic() => held,
                _ => held.without(Modifiers::SHIFT),
            };
            (KeyCode::Char(lower_case(character)), held, Some(character))
        }
    };
    let text = if types_text(held) { typed.map(String::from) } else { None };
    Some(Key { text, ..Key::new(code, held) })
}

/// Returns the key of a control character, or of another ASCII character.
pub(super) fn ascii(byte: u8, erase: u8) -> Key {
    let ctrl = |code| Key::new(code, Modifiers::CTRL);
    match byte {
        // The key that erases is Backspace; the other one of the two bytes is Ctrl+Backspace.
        0x08 | 0x7f if byte == erase || (byte == 0x7f && erase != 0x08) => {
            Key::new(KeyCode::Backspace, Modifiers::NONE)
        }
        0x08 | 0x7f => ctrl(KeyCode::Backspace),
        0x00 => ctrl(KeyCode::Space),
        0x09 => Key::new(KeyCode::Tab, Modifiers::NONE),
        0x0d => Key::new(KeyCode::Enter, Modifiers::NONE),
        0x1b => Key::new(KeyCode::Escape, Modifiers::NONE),
        0x01..=0x1a => ctrl(KeyCode::Char((b'a' + byte - 1).into())),
        0x1c => ctrl(KeyCode::Char('\\')),
        0x1d => ctrl(KeyCode::Char(']')),
        0x1e => ctrl(KeyCode::Char('^')),
        0x1f => ctrl(KeyCode::Char('-')),
        _ => Key::typed(byte.into()),
    }
}

/// Returns true if a key with these modifiers types its character.
fn types_text(held: Modifiers) -> bool {
    held.without(Modifiers::SHIFT) == Modifiers::NONE
}

/// Returns true for characters that keybindings name themselves: Latin letters and symbols.
fn is_latin(character: char) -> bool {
    character <= '\u{24f}' || !character.is_alphabetic()
}

fn upper_case(character: char) -> char {
    let mut upper = character.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(upper), None) => upper,
        _ => character,
    }
}

/// Returns the character if it can be typed. Private-use characters number keys without a name.
fn printable(code: u32) -> Option<char> {
    let character = char::from_u32(code)?;
    (!character.is_control() && !('\u{e000}'..='\u{f8ff}').contains(&character))
        .then_some(character)
}

/// Returns the key that a number names, and the character that it types.
fn functional(code: u32) -> Option<(KeyCode, Option<char>)> {
    let key = match code {
        9 | 57346 => KeyCode::Tab,
        13 | 57345 | 57414 => KeyCode::Enter,
        27 | 57344 => KeyCode::Escape,
        8 | 127 | 57347 => KeyCode::Backspace,
        32 => return Some((KeyCode::Space, Some(' '))),
        57348 | 57425 => KeyCode::Insert,
        57349 | 57426 => KeyCode::Delete,
        57350 | 57417 => KeyCode::Left,
        57351 | 57418 => KeyCode::Right,
        57352 | 57419 => KeyCode::Up,
        57353 | 57420 => KeyCode::Down,
        57354 | 57421 => KeyCode::PageUp,
        57355 | 57422 => KeyCode::PageDown,
        57356 | 57423 => KeyCode::Home,
        57357 | 57424 => KeyCode::End,
        57427 => KeyCode::Clear,
        57364..=57398 => KeyCode::F(u8::try_from(code - 57363).ok()?),
        57399..=57408 => return keypad(char::from_digit(code - 57399, 10)?),
        57409 => return keypad('.'),
        57410 => return keypad('/'),
        57411 => return keypad('*'),
        57412 => return keypad('-'),
        57413 => return keypad('+'),
        57415 => return keypad('='),
        57416 => return keypad(','),
        _ => return None,
    };
    Some((key, None))
}

fn keypad(character: char) -> Option<(KeyCode, Option<char>)> {
    Some((KeyCode::Char(character), Some(character)))
}
