//! What a terminal sends, as values: keys, pastes, mouse events, focus changes, replies.

pub mod decoder;
pub mod defaults;
pub mod key;
mod keyboard;
pub mod keymap;
pub mod mouse;
pub mod reply;
mod sequence;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

pub use decoder::{Decoder, Event, Timing};
pub use key::{Key, KeyCode, KeyId, KeyKind, Modifiers};
pub use keymap::{Keymap, Problem};
pub use mouse::{Mouse, MouseButton, MouseKind};
pub use reply::Reply;

/// One complete piece of input.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Input {
    /// A key was pressed, repeated or released.
    Key(Key),
    /// A text was pasted.
    Paste(String),
    /// The mouse was moved or a button changed.
    Mouse(Mouse),
    /// The terminal window gained (true) or lost the focus.
    Focus(bool),
}

impl Input {
    /// Returns what the terminal sent; `None` for the mouse.
    pub fn sent(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Key(key) => Some(key.sent().into()),
            Self::Paste(text) => Some(format!("\u{1b}[200~{text}\u{1b}[201~").into()),
            Self::Focus(true) => Some("\u{1b}[I".into()),
            Self::Focus(false) => Some("\u{1b}[O".into()),
            Self::Mouse(_) => None,
        }
    }

    /// Decodes data that is complete.
    pub fn decode(data: &str) -> Vec<Self> {
        let mut events = Vec::new();
        let mut decoder = Decoder::default();
        decoder.push(data.as_bytes(), &mut events);
        decoder.flush(&mut events);
        let inputs = events.into_iter().filter_map(|event| match event {
            Event::Input(input) => Some(input),
            Event::Reply(_) => None,
        });
        inputs.collect()
    }
}
