//! Sequences that pause after their first bytes. Those were reported as keys (Escape, Alt and `[`),
//! which cannot be undone, but the rest must not become text.

use super::{Decoder, Event, State};

impl Decoder {
    /// Prepares for the rest of a sequence whose beginning was taken for a key.
    pub(super) fn late(&mut self, opener: u8) {
        self.pending = vec![opener];
        self.state = State::Late { reported: 1 };
    }

    pub(super) fn continue_late(&mut self, byte: u8, reported: usize, out: &mut Vec<Event>) {
        self.pending.push(byte);
        let (state, skipped) = match is_late(&self.pending) {
            None => return,
            Some(true) => (State::Escape { twice: false }, 0),
            Some(false) => (State::Ground, reported),
        };
        self.state = state;
        let bytes = std::mem::take(&mut self.pending);
        for byte in bytes.get(skipped..).unwrap_or_default() {
            self.step(*byte, out);
        }
    }
}

/// Beginnings of replies, mouse reports and pastes after their ESC; `#` is a digit. Typed by hand,
/// they never arrive without a pause.
const LATE: &[&[u8]] =
    &[b"[?#", b"[<#", b"[200~", b"]4;", b"]10;", b"]11;", b"]52;", b"]7501;", b"P>|", b"_G"];

/// Returns true if bytes continue a sequence whose ESC came much earlier, `None` if more bytes are
/// needed to know.
fn is_late(bytes: &[u8]) -> Option<bool> {
    let same = |(pattern, byte): (&u8, &u8)| match pattern {
        b'#' => byte.is_ascii_digit(),
        _ => pattern == byte,
    };
    let mut candidates = LATE.iter().filter(|pattern| pattern.iter().zip(bytes).all(same));
    match candidates.next() {
        None => Some(false),
        Some(pattern) if pattern.len() <= bytes.len() => Some(true),
        Some(_) => None,
    }
}
