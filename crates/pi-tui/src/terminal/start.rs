//! The questions to a terminal at the start, and what is known from its answers so far. Answers may
//! come late, in any order, or never; each one applies when it comes.

use super::modes::Mode;
use crate::input::Reply;
use crate::theme::{Appearance, TerminalColors};

/// The questions to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queries {
    /// The keyboard protocol, and whether the terminal shows the status of programs.
    pub keyboard: bool,
    /// The default colors and the palette.
    pub colors: bool,
    /// The size of a cell in pixels.
    pub cell_size: bool,
}

impl Queries {
    /// No questions, for terminals that print sequences that they do not know.
    pub const NONE: Self = Self { keyboard: false, colors: false, cell_size: false };
}

/// The protocol in which keys with modifiers arrive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Keyboard {
    /// The terminal did not answer yet.
    #[default]
    Unknown,
    /// The kitty keyboard protocol.
    Kitty,
    /// The modifyOtherKeys protocol, if the terminal has any.
    ModifyOtherKeys,
}

/// A consequence of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Modes have to be switched: the terminal's keyboard protocol is known.
    Keyboard {
        /// The mode to switch on.
        enable: Option<Mode>,
        /// The mode to switch off.
        disable: Option<Mode>,
    },
    /// Colors of the terminal are known, or changed.
    Colors,
    /// The desktop changed to dark or light.
    Appearance(Appearance),
    /// The size of a cell is known.
    CellSize,
    /// The terminal shows the status of programs.
    ProgramStatus,
}

/// The answers so far.
#[derive(Debug, Clone)]
pub struct Startup {
    queries: Queries,
    /// Device attributes still to come: each series of questions ends with them.
    series: u8,
    keyboard: Keyboard,
    colors: TerminalColors,
    cell_size: Option<(u16, u16)>,
    has_program_status: bool,
}

impl Startup {
    /// Creates the state before any answer. `colors` is what is known about them otherwise.
    pub fn new(queries: Queries, colors: TerminalColors) -> Self {
        let series = u8::from(queries.keyboard) + u8::from(queries.colors || queries.cell_size);
        Self {
            queries,
            series,
            keyboard: Keyboard::Unknown,
            colors,
            cell_size: None,
            has_program_status: false,
        }
    }

    /// Returns the bytes of the questions. [`Mode::KittyKeyboard`] must be switched on before, since
    /// the answer tells whether it is.
    pub fn questions(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if self.queries.keyboard {
            out.extend_from_slice(b"\x1b[?u\x1b]7501;?\x1b\\\x1b[c");
        }
        if self.queries.colors {
            ask_colors(&mut out);
        }
        if self.queries.cell_size {
            out.extend_from_slice(b"\x1b[16t");
        }
        if self.queries.colors || self.queries.cell_size {
            out.extend_from_slice(b"\x1b[c");
        }
        out
    }

    /// Returns the questions about colors again, for a desktop that changed to dark or light.
    pub fn questions_about_colors(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        if self.queries.colors {
            self.series = self.series.saturating_add(1);
            ask_colors(&mut out);
            out.extend_from_slice(b"\x1b[c");
        }
        out
    }

    /// Takes an answer into account.
    pub fn answer(&mut self, reply: &Reply) -> Option<Change> {
        match reply {
            Reply::KittyFlags(0) => self.without_kitty(),
            Reply::KittyFlags(_) => {
                let disable = match self.keyboard {
                    Keyboard::ModifyOtherKeys => Some(Mode::ModifyOtherKeys),
                    Keyboard::Unknown => None,
                    Keyboard::Kitty => return None,
                };
                self.keyboard = Keyboard::Kitty;
                Some(Change::Keyboard { enable: None, disable })
            }
            Reply::PrimaryAttributes(_) => {
                let was_waiting = self.is_waiting();
                self.series = self.series.saturating_sub(1);
                // Both series can end only after the answer about the keyboard, if there is one.
                match self.without_kitty() {
                    None if self.queries.colors && was_waiting && !self.is_waiting() => {
                        Some(Change::Colors)
                    }
                    change => change,
                }
            }
            Reply::Foreground(color) => {
                self.colors.foreground = Some(*color);
                self.late_color()
            }
            Reply::Background(color) => {
                self.colors.background = Some(*color);
                self.late_color()
            }
            Reply::Palette(index, color) => {
                *self.colors.palette.get_mut(usize::from(*index))? = Some(*color);
                self.late_color()
            }
            Reply::CellSize { width, height } if *width > 0 && *height > 0 => {
                self.cell_size = Some((*width, *height));
                Some(Change::CellSize)
            }
            Reply::ColorScheme(appearance) => {
                self.colors.scheme = Some(*appearance);
                Some(Change::Appearance(*appearance))
            }
            Reply::ProgramStatus if !self.has_program_status => {
                self.has_program_status = true;
                Some(Change::ProgramStatus)
            }
            _ => None,
        }
    }

    /// Returns true while answers may still come that the first frame waits for (at most 100 ms).
    pub fn is_waiting(&self) -> bool {
        self.series > 0
    }

    /// Returns the keyboard protocol.
    pub fn keyboard(&self) -> Keyboard {
        self.keyboard
    }

    /// Returns the colors.
    pub fn colors(&self) -> &TerminalColors {
        &self.colors
    }

    /// Returns width and height of a cell in pixels.
    pub fn cell_size(&self) -> Option<(u16, u16)> {
        self.cell_size
    }

    /// Returns true if the terminal shows the status of programs.
    pub fn has_program_status(&self) -> bool {
        self.has_program_status
    }

    fn without_kitty(&mut self) -> Option<Change> {
        if self.keyboard != Keyboard::Unknown || !self.queries.keyboard {
            return None;
        }
        self.keyboard = Keyboard::ModifyOtherKeys;
        Some(Change::Keyboard { enable: Some(Mode::ModifyOtherKeys), disable: None })
    }

    fn late_color(&self) -> Option<Change> {
        if self.is_waiting() { None } else { Some(Change::Colors) }
    }
}

fn ask_colors(out: &mut Vec<u8>) {
    out.extend_from_slice(b"\x1b]10;?\x07\x1b]11;?\x07");
    for index in 0..16 {
        out.extend_from_slice(format!("\x1b]4;{index};?\x07").as_bytes());
    }
}
