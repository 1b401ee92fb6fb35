//! Complete CSI and SS3 sequences as events. A sequence that is not known here has no meaning and
//! is dropped.

use super::Input;
use super::decoder::Event;
use super::key::{Key, KeyCode, KeyKind, Modifiers};
use super::keyboard::{self, KittyKey};
use super::mouse;
use super::reply::Reply;
use crate::theme::Appearance;

/// Decodes a CSI sequence: its parameter and intermediate bytes, and its final byte.
pub(super) fn csi(body: &[u8], last: u8) -> Option<Event> {
    match body.first() {
        Some(b'?') => private(&Params::new(body.get(1..)?), last).map(Event::Reply),
        Some(b'<') => {
            let params = Params::new(body.get(1..)?);
            let released = match last {
                b'M' => false,
                b'm' => true,
                _ => return None,
            };
            mouse_event(&params, 0, released)
        }
        Some(b'>' | b'=') => None,
        _ => {
            let params = Params::new(body);
            match last {
                b'I' if body.is_empty() => Some(Event::Input(Input::Focus(true))),
                b'O' if body.is_empty() => Some(Event::Input(Input::Focus(false))),
                // The encoding of rxvt adds 32 to the button.
                b'M' => mouse_event(&params, 32, false),
                b't' if params.number(0) == Some(6) => Some(Event::Reply(Reply::CellSize {
                    height: params.small(1)?,
                    width: params.small(2)?,
                })),
                b'R' if !params.is_modified() => cursor_position(&params).map(Event::Reply),
                _ => {
                    let key = key(&params, last)?.sent_as(&[b"\x1b[", body, &[last]]);
                    Some(Event::Input(Input::Key(key)))
                }
            }
        }
    }
}

/// Decodes an SS3 sequence: the digits before its final byte, and the final byte.
pub(super) fn ss3(body: &[u8], last: u8) -> Option<Key> {
    Some(ss3_key(body, last)?.sent_as(&[b"\x1bO", body, &[last]]))
}

fn ss3_key(body: &[u8], last: u8) -> Option<Key> {
    let params = Params::new(body);
    // `ESC O 5 A` and `ESC O 1 ; 5 A` both hold Ctrl.
    let held = keyboard::modifiers(params.number(1).or(params.number(0)).unwrap_or(1));
    let code = match last {
        // rxvt sends these with Ctrl.
        b'a'..=b'd' => {
            return Some(Key::new(cursor_key(last.to_ascii_uppercase())?, Modifiers::CTRL));
        }
        b'M' => KeyCode::Enter,
        b'I' => KeyCode::Tab,
        b'X' => return Some(keypad(b'=', held)),
        b'j'..=b'y' => return Some(keypad(last - b'j' + b'*', held)),
        _ => cursor_key(last)?,
    };
    Some(Key::new(code, held))
}

/// Returns a key of the keypad, which types its character.
fn keypad(character: u8, held: Modifiers) -> Key {
    let typed = Key::typed(character.into());
    if held == Modifiers::NONE { typed } else { Key::new(typed.code, held) }
}

/// Decodes replies with a `?`.
fn private(params: &Params<'_>, last: u8) -> Option<Reply> {
    match last {
        b'u' => Some(Reply::KittyFlags(u8::try_from(params.number(0)?).ok()?)),
        b'c' => Some(Reply::PrimaryAttributes(
            (0..params.fields.len()).filter_map(|index| params.small(index)).collect(),
        )),
        b'R' => cursor_position(params),
        b'n' if params.number(0) == Some(997) => match params.number(1)? {
            1 => Some(Reply::ColorScheme(Appearance::Dark)),
            2 => Some(Reply::ColorScheme(Appearance::Light)),
            _ => None,
        },
        _ => None,
    }
}

fn cursor_position(params: &Params<'_>) -> Option<Reply> {
    let row = params.number(0)?.saturating_sub(1) as usize;
    let column = params.number(1)?.saturating_sub(1) as usize;
    Some(Reply::CursorPosition { row, column })
}

fn mouse_event(params: &Params<'_>, offset: u32, released: bool) -> Option<Event> {
    let code = params.number(0)?.checked_sub(offset)?;
    let mouse = mouse::decode(code, params.number(1)?, params.number(2)?, released)?;
    Some(Event::Input(Input::Mouse(mouse)))
}

fn key(params: &Params<'_>, last: u8) -> Option<Key> {
    let modifiers = params.number(1).unwrap_or(1);
    let held = keyboard::modifiers(modifiers);
    let kind = keyboard::kind(params.part(1, 1).unwrap_or(1));
    let named = |code, held| Some(Key { kind, ..Key::new(code, held) });
    match last {
        b'u' => KittyKey {
            code: params.number(0)?,
            shifted: params.part(0, 1),
            base: params.part(0, 2),
            modifiers,
            event: params.part(1, 1).unwrap_or(1),
            text: params.text(2),
        }
        .decode(),
        b'~' => match params.number(0)? {
            27 => keyboard::modify_other_keys(modifiers, params.number(2)?),
            // F3 when alone; with modifiers some terminals send Enter like this.
            13 if params.number(1).is_some() => named(KeyCode::Enter, held),
            number => named(numbered(number)?, held),
        },
        b'Z' => named(KeyCode::Tab, held | Modifiers::SHIFT),
        // rxvt: the final byte is the modifier.
        b'$' => named(numbered(params.number(0)?)?, Modifiers::SHIFT),
        b'^' => named(numbered(params.number(0)?)?, Modifiers::CTRL),
        b'@' => named(numbered(params.number(0)?)?, Modifiers::CTRL | Modifiers::SHIFT),
        b'a'..=b'd' => named(cursor_key(last.to_ascii_uppercase())?, Modifiers::SHIFT),
        _ => named(cursor_key(last)?, held),
    }
}

/// Returns the key of a final letter.
fn cursor_key(last: u8) -> Option<KeyCode> {
    Some(match last {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'E' => KeyCode::Clear,
        b'F' => KeyCode::End,
        b'H' => KeyCode::Home,
        b'P'..=b'S' => KeyCode::F(last - b'P' + 1),
        _ => return None,
    })
}

/// Returns the key of a number before `~`.
fn numbered(number: u32) -> Option<KeyCode> {
    Some(match number {
        1 | 7 => KeyCode::Home,
        2 => KeyCode::Insert,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        11..=15 => KeyCode::F(u8::try_from(number - 10).ok()?),
        17..=21 => KeyCode::F(u8::try_from(number - 11).ok()?),
        23..=26 => KeyCode::F(u8::try_from(number - 12).ok()?),
        28 | 29 => KeyCode::F(u8::try_from(number - 13).ok()?),
        31..=34 => KeyCode::F(u8::try_from(number - 14).ok()?),
        57427 => KeyCode::Clear,
        _ => return None,
    })
}

/// Returns the key of the Linux console: `CSI [ A` to `CSI [ E`.
pub(super) fn linux(last: u8) -> Option<Key> {
    match last {
        b'A'..=b'E' => {
            let key = Key::new(KeyCode::F(last - b'A' + 1), Modifiers::NONE);
            Some(key.sent_as(&[b"\x1b[[", &[last]]))
        }
        _ => None,
    }
}

/// Adds Alt to a key event, for sequences after an additional ESC.
pub(super) fn with_alt(event: Event) -> Event {
    match event {
        Event::Input(Input::Key(key)) => {
            let mut key = key.clone().sent_as(&[b"\x1b", key.sent().as_bytes()]);
            key.modifiers = key.modifiers | Modifiers::ALT;
            if key.kind != KeyKind::Release {
                key.text = None;
            }
            Event::Input(Input::Key(key))
        }
        other => other,
    }
}

/// Parameters of a sequence: fields separated by `;`, with parts separated by `:`.
#[derive(Debug)]
struct Params<'a> {
    fields: Vec<&'a [u8]>,
}

impl<'a> Params<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { fields: bytes.split(|byte| *byte == b';').collect() }
    }

    /// Returns a part of a field, if it is there and a number.
    fn part(&self, field: usize, part: usize) -> Option<u32> {
        let digits = self.fields.get(field)?.split(|byte| *byte == b':').nth(part)?;
        std::str::from_utf8(digits).ok()?.parse().ok()
    }

    fn number(&self, field: usize) -> Option<u32> {
        self.part(field, 0)
    }

    fn small(&self, field: usize) -> Option<u16> {
        self.number(field)?.try_into().ok()
    }

    /// Returns the code points of a field as text, without control characters.
    fn text(&self, field: usize) -> String {
        let Some(points) = self.fields.get(field) else { return String::new() };
        points
            .split(|byte| *byte == b':')
            .filter_map(|digits| std::str::from_utf8(digits).ok()?.parse().ok())
            .filter_map(char::from_u32)
            .filter(|character| !character.is_control())
            .collect()
    }

    /// Returns true for `1 ; modifiers`, the parameters of a cursor or function key. They are also
    /// those of a cursor in the first row, so programs ask with `CSI ? 6 n`, whose reply has a `?`.
    fn is_modified(&self) -> bool {
        match (self.fields.len(), self.number(0), self.number(1)) {
            (..2, ..) => true,
            (_, None | Some(1), Some(2..=16)) => true,
            _ => self.part(1, 1).is_some(),
        }
    }
}
