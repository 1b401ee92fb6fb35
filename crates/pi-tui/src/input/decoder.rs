//! Bytes of a terminal as events. One state machine reads byte by byte, so the events do not
//! depend on how reads cut the bytes. There is no clock here: the caller waits for
//! [`Decoder::timeout`] and then calls [`Decoder::flush`].

mod late;
mod paste;

use std::time::Duration;

use super::Input;
use super::key::{Key, KeyCode, KeyKind, Modifiers};
use super::keyboard;
use super::mouse;
use super::reply::{self, Reply};
use super::sequence;

/// A complete piece of input, or the reply to a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Input of the user.
    Input(Input),
    /// A reply of the terminal.
    Reply(Reply),
}

/// The time after which incomplete bytes have a meaning of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// An ESC that nothing follows is the Escape key. Slow connections need more time.
    pub escape: Duration,
    /// Any other incomplete sequence.
    pub sequence: Duration,
}

impl Timing {
    /// Times for a terminal on the same machine.
    pub const LOCAL: Self =
        Self { escape: Duration::from_millis(10), sequence: Duration::from_millis(50) };
    /// Times for a terminal behind a network connection.
    pub const REMOTE: Self =
        Self { escape: Duration::from_millis(100), sequence: Duration::from_millis(150) };
}

impl Default for Timing {
    fn default() -> Self {
        Self::LOCAL
    }
}

/// Parameters of a CSI sequence are longer than this only in garbage.
const MAX_PARAMETERS: usize = 1024;
/// Replies are longer than this only in garbage, or if the clipboard is large.
const MAX_STRING: usize = 4 << 20;
/// A larger paste arrives as several ones.
const MAX_PASTE: usize = 64 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ground,
    /// A character of several bytes, which are pending.
    Utf8 {
        alt: bool,
    },
    /// After one ESC, or two of them.
    Escape {
        twice: bool,
    },
    Csi {
        alt: bool,
    },
    Ss3 {
        alt: bool,
    },
    /// After `CSI [`.
    Linux,
    /// After `CSI M`: three bytes.
    X10,
    /// OSC, DCS or APC, by its first byte. `ended` after the ESC of its end.
    Text {
        opener: u8,
        ended: bool,
    },
    Paste,
    /// After a timeout in the middle of a sequence: `pending` is its beginning without the ESC,
    /// of which `reported` bytes were reported as keys.
    Late {
        reported: usize,
    },
}

/// The decoder.
#[derive(Debug, Clone)]
pub struct Decoder {
    timing: Timing,
    erase: u8,
    kitty: bool,
    state: State,
    pending: Vec<u8>,
    paste_limit: usize,
    /// The character of the key before, if the kitty protocol reported it.
    repeated: Option<char>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new(Timing::LOCAL)
    }
}

impl Decoder {
    /// Creates a decoder.
    pub fn new(timing: Timing) -> Self {
        Self {
            timing,
            erase: 0x7f,
            kitty: false,
            state: State::Ground,
            pending: Vec::new(),
            paste_limit: MAX_PASTE,
            repeated: None,
        }
    }

    /// Sets the byte that the Backspace key sends (`VERASE` of the terminal).
    pub fn set_erase(&mut self, byte: u8) {
        self.erase = byte;
    }

    /// Returns how many bytes wait for more.
    #[cfg(test)]
    pub(super) fn pending_bytes(&self) -> usize {
        self.pending.len()
    }

    #[cfg(test)]
    pub(super) fn limit_paste(&mut self, bytes: usize) {
        self.paste_limit = bytes;
    }

    /// Decodes bytes; appends the events that are complete.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<Event>) {
        let mut rest = bytes;
        loop {
            if self.state == State::Paste {
                rest = self.paste(rest, out);
            }
            let Some((first, after)) = rest.split_first() else { return };
            self.step(*first, out);
            rest = after;
        }
    }

    /// Returns the time without new bytes after which `flush` must be called. Replies, pastes and
    /// the parameters of a sequence are waited for without limit: their rest may never become text.
    pub fn timeout(&self) -> Option<Duration> {
        let Timing { escape, sequence } = self.timing;
        match self.state {
            State::Ground | State::Paste => None,
            // With the kitty protocol the Escape key is a sequence of its own.
            State::Escape { .. } if self.kitty => Some(escape.max(sequence)),
            State::Escape { .. } => Some(escape),
            State::Late { reported } if self.pending.len() == reported => None,
            State::Late { .. } => Some(escape),
            State::Csi { .. } | State::Ss3 { .. } if !self.pending.is_empty() => None,
            State::Text { opener, .. } if is_reply(opener, &self.pending) => None,
            _ => Some(sequence),
        }
    }

    /// Decodes incomplete bytes as what they are when nothing follows: ESC is the Escape key,
    /// `ESC [` is Alt and `[`.
    pub fn flush(&mut self, out: &mut Vec<Event>) {
        if self.timeout().is_none() {
            return;
        }
        let pending = std::mem::take(&mut self.pending);
        let state = std::mem::replace(&mut self.state, State::Ground);
        match state {
            State::Escape { twice } => {
                for _ in 0..=usize::from(twice) {
                    self.key(escape_key(), out);
                }
                self.state = State::Late { reported: 0 };
            }
            State::Csi { alt } | State::Ss3 { alt } => {
                let opener = if matches!(state, State::Csi { .. }) { b'[' } else { b'O' };
                self.unfinished(alt, opener, out);
                self.late(opener);
            }
            State::Text { opener, ended } if pending.is_empty() => {
                self.alt(opener, out);
                if ended {
                    self.key(escape_key(), out);
                } else {
                    self.late(opener);
                }
            }
            State::Utf8 { alt } => self.broken_utf8(&pending, alt, out),
            State::Late { reported } => {
                for byte in pending.get(reported..).unwrap_or_default() {
                    self.step(*byte, out);
                }
                // Those bytes may begin a sequence again.
                self.flush(out);
            }
            _ => {}
        }
    }

    fn step(&mut self, byte: u8, out: &mut Vec<Event>) {
        match self.state {
            State::Ground => match byte {
                0x1b => self.state = State::Escape { twice: false },
                0x80.. => self.begin_utf8(byte, false),
                _ => self.typed(byte, out),
            },
            State::Utf8 { alt } => self.utf8(byte, alt, out),
            State::Escape { twice } => self.escape(byte, twice, out),
            State::Csi { alt } => self.csi(byte, alt, out),
            State::Ss3 { alt } => match byte {
                b'0'..=b'9' | b';' if self.pending.len() < MAX_PARAMETERS => {
                    self.pending.push(byte);
                }
                0x40..=0x7e => {
                    let key = sequence::ss3(&self.pending, byte);
                    self.finish(key.map(|key| Event::Input(Input::Key(key))), alt, out);
                }
                _ => {
                    self.unfinished(alt, b'O', out);
                    self.step(byte, out);
                }
            },
            State::Linux => match sequence::linux(byte) {
                Some(key) => self.finish(Some(Event::Input(Input::Key(key))), false, out),
                None => self.again(byte, out),
            },
            State::X10 if byte < 0x20 => self.again(byte, out),
            State::X10 => {
                self.pending.push(byte);
                if let [code, column, row] = self.pending.as_slice() {
                    let number = |byte: &u8| u32::from(*byte) - 32;
                    let mouse = mouse::decode(number(code), number(column), number(row), false);
                    self.finish(mouse.map(|mouse| Event::Input(Input::Mouse(mouse))), false, out);
                }
            }
            State::Text { opener, ended } => self.text(byte, opener, ended, out),
            State::Late { reported } => self.continue_late(byte, reported, out),
            State::Paste => self.pending.push(byte),
        }
    }

    /// Drops what is pending and decodes the byte anew.
    fn again(&mut self, byte: u8, out: &mut Vec<Event>) {
        self.pending.clear();
        self.state = State::Ground;
        self.step(byte, out);
    }

    /// Ends a sequence.
    fn finish(&mut self, event: Option<Event>, alt: bool, out: &mut Vec<Event>) {
        self.pending.clear();
        self.state = State::Ground;
        let event = match event {
            Some(event) if alt => sequence::with_alt(event),
            Some(event) => event,
            None => return,
        };
        if let Event::Reply(Reply::KittyFlags(flags)) = &event {
            self.kitty = *flags != 0;
        }
        self.repeated = None;
        out.push(event);
    }

    fn key(&mut self, key: Key, out: &mut Vec<Event>) {
        self.repeated = None;
        out.push(Event::Input(Input::Key(key)));
    }

    /// Decodes an ASCII character.
    fn typed(&mut self, byte: u8, out: &mut Vec<Event>) {
        // Some terminals send the character as well as its kitty sequence.
        if self.repeated.take() == Some(byte.into()) {
            return;
        }
        let key = match byte {
            // With the kitty protocol Ctrl+J is a sequence, so this is Shift+Enter of a terminal
            // that was configured to send it.
            b'\n' if self.kitty => Key::new(KeyCode::Enter, Modifiers::SHIFT),
            _ => keyboard::ascii(byte, self.erase),
        };
        self.key(key.sent_as(&[&[byte]]), out);
    }

    /// Decodes an ASCII character after ESC.
    fn alt(&mut self, byte: u8, out: &mut Vec<Event>) {
        let mut key = keyboard::ascii(byte, self.erase);
        let held = match byte {
            b'\r' if self.kitty => Modifiers::SHIFT,
            _ => key.modifiers | Modifiers::ALT,
        };
        key.modifiers = held;
        key.text = None;
        self.key(key.sent_as(&[b"\x1b", &[byte]]), out);
    }

    fn escape(&mut self, byte: u8, twice: bool, out: &mut Vec<Event>) {
        match byte {
            b'[' => self.state = State::Csi { alt: twice },
            b'O' => self.state = State::Ss3 { alt: twice },
            0x1b => {
                if twice {
                    self.key(escape_key(), out);
                }
                self.state = State::Escape { twice: true };
            }
            _ => {
                if twice {
                    self.key(escape_key(), out);
                }
                self.state = State::Ground;
                match byte {
                    b']' | b'P' | b'_' => self.state = State::Text { opener: byte, ended: false },
                    0x80.. => self.begin_utf8(byte, true),
                    _ => self.alt(byte, out),
                }
            }
        }
    }

    fn csi(&mut self, byte: u8, alt: bool, out: &mut Vec<Event>) {
        let first = self.pending.first().copied();
        match byte {
            // rxvt ends Shift with a byte that continues other sequences.
            b'$' if first.is_some_and(|byte| byte.is_ascii_digit()) => {
                self.finish(sequence::csi(&self.pending, byte), alt, out);
            }
            0x20..=0x3f => {
                if self.pending.len() < MAX_PARAMETERS {
                    self.pending.push(byte);
                }
            }
            b'[' if first.is_none() => self.state = State::Linux,
            b'M' if first.is_none() => self.state = State::X10,
            b'~' if self.pending == b"200" => {
                self.pending.clear();
                self.state = State::Paste;
            }
            0x40..=0x7e => {
                let event = match self.pending.len() {
                    MAX_PARAMETERS.. => None,
                    _ => sequence::csi(&self.pending, byte),
                };
                let repeated = event.as_ref().and_then(|event| typed_by_sequence(event, byte));
                self.finish(event, alt, out);
                self.repeated = repeated;
            }
            _ => {
                self.unfinished(alt, b'[', out);
                self.step(byte, out);
            }
        }
    }

    /// Ends `ESC [` or `ESC O` that was cut off: without parameters it is a key with Alt.
    fn unfinished(&mut self, alt: bool, opener: u8, out: &mut Vec<Event>) {
        let bare = self.pending.is_empty();
        self.pending.clear();
        self.state = State::Ground;
        if bare {
            if alt {
                self.key(escape_key(), out);
            }
            self.alt(opener, out);
        }
    }

    fn text(&mut self, byte: u8, opener: u8, ended: bool, out: &mut Vec<Event>) {
        let bare = self.pending.is_empty();
        match byte {
            b'\\' if ended => self.end_text(opener, out),
            _ if ended => {
                // The ESC did not end the text, so it begins something else.
                if bare {
                    self.alt(opener, out);
                }
                self.pending.clear();
                self.state = State::Escape { twice: false };
                self.step(byte, out);
            }
            0x07 => self.end_text(opener, out),
            0x1b => self.state = State::Text { opener, ended: true },
            // Replies have no control characters: Enter or Ctrl+C ends what never would.
            0x00..=0x1f | 0x7f => {
                self.state = State::Ground;
                if bare {
                    self.alt(opener, out);
                }
                self.again(byte, out);
            }
            _ => {
                if self.pending.len() < MAX_STRING {
                    self.pending.push(byte);
                }
            }
        }
    }

    fn end_text(&mut self, opener: u8, out: &mut Vec<Event>) {
        let content = std::mem::take(&mut self.pending);
        let reply = match opener {
            _ if content.len() >= MAX_STRING => None,
            b']' => reply::osc(&content),
            b'P' => reply::dcs(&content),
            _ => None,
        };
        self.finish(reply.map(Event::Reply), false, out);
    }

    fn begin_utf8(&mut self, byte: u8, alt: bool) {
        self.pending.push(byte);
        self.state = State::Utf8 { alt };
    }

    fn utf8(&mut self, byte: u8, alt: bool, out: &mut Vec<Event>) {
        self.pending.push(byte);
        match std::str::from_utf8(&self.pending) {
            Ok(text) => {
                let Some(character) = text.chars().next() else { return };
                self.pending.clear();
                self.state = State::Ground;
                self.character(character, alt, out);
            }
            Err(error) if error.error_len().is_none() => {}
            Err(_) => {
                self.pending.clear();
                self.state = State::Ground;
                self.character(char::REPLACEMENT_CHARACTER, alt, out);
                self.step(byte, out);
            }
        }
    }

    fn character(&mut self, character: char, alt: bool, out: &mut Vec<Event>) {
        // The control characters of the C1 set are not text.
        if self.repeated.take() == Some(character) || character.is_control() {
            return;
        }
        let mut key = Key::typed(character);
        if alt {
            key.modifiers = key.modifiers | Modifiers::ALT;
            key.text = None;
            key = key.sent_as(&[b"\x1b", character.encode_utf8(&mut [0; 4]).as_bytes()]);
        }
        self.key(key, out);
    }

    /// Decodes the beginning of a character that does not continue. A single byte is a key with
    /// Alt, as terminals with 8-bit meta send it.
    fn broken_utf8(&mut self, pending: &[u8], alt: bool, out: &mut Vec<Event>) {
        match pending {
            [byte] if !alt => self.alt(byte & 0x7f, out),
            _ => self.character(char::REPLACEMENT_CHARACTER, alt, out),
        }
    }
}

fn escape_key() -> Key {
    Key::new(KeyCode::Escape, Modifiers::NONE).sent_as(&[b"\x1b"])
}

/// Returns true if a string can only be the reply to a query.
fn is_reply(opener: u8, content: &[u8]) -> bool {
    match (opener, content.first()) {
        (_, None) => false,
        (b']', Some(first)) => first.is_ascii_digit(),
        (b'_', Some(first)) => *first == b'G',
        _ => true,
    }
}

/// Returns the character that a key of the kitty protocol types.
fn typed_by_sequence(event: &Event, last: u8) -> Option<char> {
    match event {
        Event::Input(Input::Key(key)) if last == b'u' && key.kind != KeyKind::Release => {
            let mut characters = key.text.as_deref()?.chars();
            characters.next().filter(|_| characters.next().is_none())
        }
        _ => None,
    }
}
