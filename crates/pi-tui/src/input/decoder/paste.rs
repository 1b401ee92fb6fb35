//! Pastes: everything up to the end marker is one text, without work per character.

use super::{Decoder, Event, State};
use crate::input::Input;

const PASTE_END: &[u8] = b"\x1b[201~";

impl Decoder {
    /// Collects a paste; returns the bytes after its end.
    pub(super) fn paste<'a>(&mut self, bytes: &'a [u8], out: &mut Vec<Event>) -> &'a [u8] {
        let before = self.pending.len();
        self.pending.extend_from_slice(bytes);
        // The end may have begun in the bytes before.
        let mut from = before.saturating_sub(PASTE_END.len() - 1);
        while let Some(found) = self.pending.get(from..).and_then(find_escape) {
            let at = from + found;
            if self.pending.get(at..).is_some_and(|rest| rest.starts_with(PASTE_END)) {
                self.pending.truncate(at);
                let mut content = std::mem::take(&mut self.pending);
                while content.len() > self.paste_limit {
                    out.push(self.part_of_paste(&mut content));
                }
                out.push(pasted(content));
                self.state = State::Ground;
                self.repeated = None;
                return bytes.get(at + PASTE_END.len() - before..).unwrap_or_default();
            }
            from = at + 1;
        }
        let mut content = std::mem::take(&mut self.pending);
        while content.len() >= self.paste_limit + PASTE_END.len() {
            out.push(self.part_of_paste(&mut content));
        }
        self.pending = content;
        &[]
    }

    /// Takes the first part of a paste that is too large for one event.
    fn part_of_paste(&self, content: &mut Vec<u8>) -> Event {
        let is_inside = |at: &usize| content.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
        let mut at = self.paste_limit;
        while at + 3 > self.paste_limit && at > 1 && is_inside(&at) {
            at -= 1;
        }
        let rest = content.split_off(at.min(content.len()));
        pasted(std::mem::replace(content, rest))
    }
}

fn find_escape(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == 0x1b)
}

/// Returns the event of a paste. Bytes that are not UTF-8 are replaced.
fn pasted(content: Vec<u8>) -> Event {
    let text = String::from_utf8(content)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Event::Input(Input::Paste(text))
}
