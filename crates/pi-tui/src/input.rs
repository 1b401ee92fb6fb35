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
