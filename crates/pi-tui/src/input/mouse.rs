//! Events of the mouse, and the three encodings in which terminals report them.

use super::key::Modifiers;

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

/// Decodes the three numbers of a report. `released` is the final `m` of SGR reports; older
/// encodings report a release as button 3. Returns `None` for buttons beyond the third.
pub(super) fn decode(code: u32, column: u32, row: u32, released: bool) -> Option<Mouse> {
    let mut modifiers = Modifiers::NONE;
    for (bit, modifier) in [(4, Modifiers::SHIFT), (8, Modifiers::ALT), (16, Modifiers::CTRL)] {
        if code & bit != 0 {
            modifiers = modifiers | modifier;
        }
    }
    let button = match code & 3 {
        0 => Some(MouseButton::Left),
        1 => Some(MouseButton::Middle),
        2 => Some(MouseButton::Right),
        _ => None,
    };
    let kind = match (code & 0b1100_0000, code & 32 != 0, button) {
        (64, _, _) => match code & 3 {
            0 => MouseKind::WheelUp,
            1 => MouseKind::WheelDown,
            2 => MouseKind::WheelLeft,
            _ => MouseKind::WheelRight,
        },
        (0, true, Some(button)) => MouseKind::Drag(button),
        (0, true, None) => MouseKind::Move,
        (0, false, Some(button)) if released => MouseKind::Release(button),
        (0, false, Some(button)) => MouseKind::Press(button),
        (0, false, None) => MouseKind::Release(MouseButton::Left),
        _ => return None,
    };
    Some(Mouse { kind, column: from_one(column), row: from_one(row), modifiers })
}

/// Returns a coordinate that counts from 1 as one that counts from 0.
fn from_one(coordinate: u32) -> usize {
    coordinate.saturating_sub(1) as usize
}
