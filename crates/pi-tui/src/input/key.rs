//! Keys, and their names in keybinding files: `ctrl+shift+up`.

use std::ops::BitOr;
use std::str::FromStr;

/// A key event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The key.
    pub code: KeyCode,
    /// The modifiers that were held.
    pub modifiers: Modifiers,
    /// Pressed, repeated or released.
    pub kind: KeyKind,
    /// The text that the key types, if it types one.
    pub text: Option<String>,
    /// The bytes that are not text.
    pub sequence: Sequence,
}

/// The bytes of a key that are not its text, as the terminal sent them. They do not distinguish
/// keys: terminals send the same key differently.
#[derive(Clone, Copy, Default)]
pub struct Sequence {
    bytes: [u8; Sequence::MAX],
    len: u8,
}

impl Sequence {
    /// Longer sequences carry text of input methods, which is known by itself.
    const MAX: usize = 32;

    /// Joins parts. A sequence that is too long is empty.
    pub(super) fn new(parts: &[&[u8]]) -> Self {
        let mut sequence = Self::default();
        for byte in parts.iter().copied().flatten() {
            let Some(free) = sequence.bytes.get_mut(usize::from(sequence.len)) else {
                return Self::default();
            };
            *free = *byte;
            sequence.len += 1;
        }
        sequence
    }

    fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..usize::from(self.len)).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

impl PartialEq for Sequence {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Sequence {}

impl std::fmt::Debug for Sequence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_str().fmt(f)
    }
}

/// A key without modifiers. Letters are in lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // The names say it.
pub enum KeyCode {
    Char(char),
    F(u8),
    Escape,
    Enter,
    Tab,
    Space,
    Backspace,
    Delete,
    Insert,
    Clear,
    Home,
    End,
    PageUp,
    PageDown,
    Up,
    Down,
    Left,
    Right,
}

/// A set of modifiers. The locks (caps, num) are not among them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Modifiers(u8);

#[allow(missing_docs)] // The names say it.
impl Modifiers {
    pub const NONE: Self = Self(0);
    pub const SHIFT: Self = Self(1);
    pub const ALT: Self = Self(2);
    pub const CTRL: Self = Self(4);
    pub const SUPER: Self = Self(8);

    /// Returns true if all modifiers of `other` are set.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the set without the modifiers of `other`.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl BitOr for Modifiers {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The kind of a key event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub enum KeyKind {
    #[default]
    Press,
    Repeat,
    Release,
}

impl Key {
    /// Creates the press of a key that types no text.
    pub fn new(code: KeyCode, modifiers: Modifiers) -> Self {
        Self { code, modifiers, kind: KeyKind::Press, text: None, sequence: Sequence::default() }
    }

    /// Creates the press of a key that types a character.
    pub fn typed(character: char) -> Self {
        let code = match character {
            ' ' => KeyCode::Space,
            other => KeyCode::Char(lower_case(other)),
        };
        let modifiers = if character.is_uppercase() { Modifiers::SHIFT } else { Modifiers::NONE };
        Self { text: Some(character.to_string()), ..Self::new(code, modifiers) }
    }

    /// Returns the key with the bytes that the terminal sent.
    pub(super) fn sent_as(mut self, parts: &[&[u8]]) -> Self {
        self.sequence = Sequence::new(parts);
        self
    }

    /// Returns what the terminal sent for the key.
    pub fn sent(&self) -> &str {
        match self.sequence.as_str() {
            "" => self.text.as_deref().unwrap_or_default(),
            sequence => sequence,
        }
    }

    /// Returns the id of the key, which keybindings name.
    pub fn id(&self) -> KeyId {
        KeyId { code: self.code, modifiers: self.modifiers }.canonical()
    }

    /// Returns true for this key id (`"ctrl+c"`). An invalid id is no key.
    pub fn is(&self, id: &str) -> bool {
        id.parse::<KeyId>().is_ok_and(|id| id == self.id())
    }
}

/// A key with modifiers, as keybindings name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // The names say it.
pub struct KeyId {
    pub code: KeyCode,
    pub modifiers: Modifiers,
}

impl KeyId {
    /// Returns one id for keys that legacy terminals cannot tell apart: the byte 0x1f is `ctrl+-`
    /// and `ctrl+_`, the byte 0 is `ctrl+space` and `ctrl+@`.
    fn canonical(self) -> Self {
        let without_shift = self.modifiers.without(Modifiers::SHIFT);
        match self.code {
            KeyCode::Char(' ') => Self { code: KeyCode::Space, ..self },
            KeyCode::Char('_') if self.modifiers.contains(Modifiers::CTRL) => {
                Self { code: KeyCode::Char('-'), modifiers: without_shift }
            }
            KeyCode::Char('@') if self.modifiers.contains(Modifiers::CTRL) => {
                Self { code: KeyCode::Space, modifiers: without_shift }
            }
            _ => self,
        }
    }
}

/// Returns the character in lower case if that is one character.
pub(super) fn lower_case(character: char) -> char {
    let mut lower = character.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(lower), None) => lower,
        _ => character,
    }
}

/// A text is not the name of a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a key; write it like `ctrl+shift+up`")]
pub struct InvalidKey(pub String);

/// Names of keys. The first name of a code is the one that is shown.
const NAMES: &[(&str, KeyCode)] = &[
    ("escape", KeyCode::Escape),
    ("esc", KeyCode::Escape),
    ("enter", KeyCode::Enter),
    ("return", KeyCode::Enter),
    ("tab", KeyCode::Tab),
    ("space", KeyCode::Space),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("clear", KeyCode::Clear),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageUp", KeyCode::PageUp),
    ("pageDown", KeyCode::PageDown),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
];

impl FromStr for KeyId {
    type Err = InvalidKey;

    fn from_str(text: &str) -> Result<Self, InvalidKey> {
        let invalid = || InvalidKey(text.to_owned());
        let mut modifiers = Modifiers::NONE;
        let mut rest = text.trim();
        // The last part is the key, which may itself be a plus sign.
        while let Some((first, after)) = rest.split_once('+').filter(|(_, after)| !after.is_empty())
        {
            modifiers = modifiers
                | match first.to_ascii_lowercase().as_str() {
                    "ctrl" | "control" => Modifiers::CTRL,
                    "shift" => Modifiers::SHIFT,
                    "alt" | "option" | "meta" => Modifiers::ALT,
                    "super" | "cmd" => Modifiers::SUPER,
                    _ => return Err(invalid()),
                };
            rest = after;
        }
        let named = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(rest));
        let code = match named {
            Some((_, code)) => *code,
            None => {
                let mut characters = rest.chars();
                match (characters.next(), characters.as_str()) {
                    (Some(one), "") => KeyCode::Char(lower_case(one)),
                    (Some('f' | 'F'), number) => match number.parse() {
                        Ok(number @ 1..=35) => KeyCode::F(number),
                        _ => return Err(invalid()),
                    },
                    _ => return Err(invalid()),
                }
            }
        };
        Ok(Self { code, modifiers }.canonical())
    }
}

impl std::fmt::Display for KeyId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let modifiers = [
            (Modifiers::SHIFT, "shift+"),
            (Modifiers::CTRL, "ctrl+"),
            (Modifiers::ALT, "alt+"),
            (Modifiers::SUPER, "super+"),
        ];
        for (modifier, name) in modifiers {
            if self.modifiers.contains(modifier) {
                f.write_str(name)?;
            }
        }
        match self.code {
            KeyCode::Char(character) => write!(f, "{character}"),
            KeyCode::F(number) => write!(f, "f{number}"),
            code => {
                let name = NAMES.iter().find(|(_, named)| *named == code);
                f.write_str(name.map_or("?", |(name, _)| name))
            }
        }
    }
}
