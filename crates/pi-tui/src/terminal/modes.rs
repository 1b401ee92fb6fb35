//! Modes of a terminal that a program switches on and has to take back: plain data and the bytes
//! that change them.

/// A mode that differs from the terminal's usual state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Reports of mouse movements without a button (1003). Multiplexers flood with them.
    MouseMotion,
    /// Reports of mouse buttons, drags and the wheel (1000, 1002, 1006).
    Mouse,
    /// Reports of focus changes (1004).
    Focus,
    /// Reports of changes between dark and light (2031).
    ColorScheme,
    /// Markers around pasted text (2004).
    BracketedPaste,
    /// The kitty keyboard protocol: disambiguated keys, event types, alternate keys.
    KittyKeyboard,
    /// The modifyOtherKeys protocol of xterm.
    ModifyOtherKeys,
    /// Long lines are cut at the last column (7, off).
    NoAutowrap,
    /// The alternate screen (1049).
    AlternateScreen,
    /// The title is saved, and set by the program.
    Title,
    /// The cursor is invisible (25, off).
    HiddenCursor,
}

use Mode as M;

/// All modes with the bytes that switch them on and off, in the order in which they are taken back:
/// first what makes the terminal send bytes, last what the user sees.
const MODES: &[(Mode, &str, &str)] = &[
    (M::MouseMotion, "\x1b[?1003h", "\x1b[?1003l"),
    (M::Mouse, "\x1b[?1000h\x1b[?1002h\x1b[?1006h", "\x1b[?1006l\x1b[?1002l\x1b[?1000l"),
    (M::Focus, "\x1b[?1004h", "\x1b[?1004l"),
    (M::ColorScheme, "\x1b[?2031h", "\x1b[?2031l"),
    (M::BracketedPaste, "\x1b[?2004h", "\x1b[?2004l"),
    (M::KittyKeyboard, "\x1b[>7u", "\x1b[<u"),
    (M::ModifyOtherKeys, "\x1b[>4;2m", "\x1b[>4;0m"),
    (M::NoAutowrap, "\x1b[?7l", "\x1b[?7h"),
    (M::AlternateScreen, "\x1b[?1049h", "\x1b[?1049l"),
    (M::Title, "\x1b[22;0t", "\x1b[23;0t"),
    (M::HiddenCursor, "\x1b[?25l", "\x1b[?25h"),
];

/// Ends what an interrupted frame may have left open: a string, a synchronized update, colors and a
/// link.
const END_OF_FRAME: &str = "\x1b\\\x1b[?2026l\x1b[0m\x1b]8;;\x1b\\";

/// A set of modes that are on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Modes(u16);

impl Modes {
    /// Returns true if the mode is on.
    pub fn contains(self, mode: Mode) -> bool {
        self.0 & Self::bit(mode) != 0
    }

    /// Returns true if no mode is on.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Switches a mode on. Writes nothing if it is on.
    pub fn enable(&mut self, mode: Mode, out: &mut Vec<u8>) {
        if !self.contains(mode) {
            self.switch(mode, true, out);
        }
    }

    /// Switches a mode off. Writes nothing if it is off.
    pub fn disable(&mut self, mode: Mode, out: &mut Vec<u8>) {
        if self.contains(mode) {
            self.switch(mode, false, out);
        }
    }

    /// Switches all modes off. Writes nothing if none is on.
    pub fn restore(&mut self, out: &mut Vec<u8>) {
        if self.is_empty() {
            return;
        }
        out.extend_from_slice(END_OF_FRAME.as_bytes());
        for (mode, ..) in MODES {
            self.disable(*mode, out);
        }
    }

    /// Returns the modes that are on, in the order in which they are switched on.
    pub fn iter(self) -> impl Iterator<Item = Mode> {
        MODES.iter().rev().map(|(mode, ..)| *mode).filter(move |mode| self.contains(*mode))
    }

    fn switch(&mut self, mode: Mode, on: bool, out: &mut Vec<u8>) {
        // Each of the two screens has a stack of keyboard flags of its own.
        let moves = mode == Mode::AlternateScreen && self.contains(Mode::KittyKeyboard);
        if moves {
            self.switch(Mode::KittyKeyboard, false, out);
        }
        if let Some((_, enable, disable)) = MODES.iter().find(|(other, ..)| *other == mode) {
            out.extend_from_slice(if on { enable } else { disable }.as_bytes());
        }
        self.0 ^= Self::bit(mode);
        if moves {
            self.switch(Mode::KittyKeyboard, true, out);
        }
    }

    fn bit(mode: Mode) -> u16 {
        1 << mode as u16
    }
}
