//! What a terminal sends, as values: keys, pastes, mouse events, focus changes, replies.

pub mod key;
pub mod keymap;

pub use key::{Key, KeyCode, KeyKind, Modifiers};
pub use keymap::Keymap;

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

/// An event of the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub struct Mouse {
    pub kind: MouseKind,
    /// Column, from 0.
    pub column: usize,
    /// Row, from 0.
    pub row: usize,
    pub modifiers: Modifiers,
}

/// The kind of a mouse event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub enum MouseKind {
    Press(MouseButton),
    Release(MouseButton),
    /// The mouse moved while a button was down.
    Drag(MouseButton),
    Move,
    WheelUp,
    WheelDown,
    WheelLeft,
    WheelRight,
}

/// A button of the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub enum MouseButton {
    Left,
    Middle,
    Right,
}
