//! The setting of the theme: one name, or two, of which the terminal's appearance chooses.

use std::fmt;

use super::{Appearance, TerminalColors, Theme};
use crate::style::ColorDepth;

/// Names of the built-in themes.
pub const BUILTIN: [&str; 3] = ["system", "dark", "light"];

/// The chosen theme or themes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThemeChoice {
    /// The theme with this name.
    Single(String),
    /// One theme for a light terminal and one for a dark terminal: "automatic".
    Automatic {
        /// Name of the theme for light terminals.
        light: String,
        /// Name of the theme for dark terminals.
        dark: String,
    },
}

impl Default for ThemeChoice {
    fn default() -> Self {
        Self::Single("system".to_owned())
    }
}

impl ThemeChoice {
    /// Reads the value of the setting: a name, or `light/dark` with two names. An empty name is
    /// `system`.
    pub fn from_setting(value: &str) -> Self {
        let name = |text: &str| match text.trim() {
            "" => "system".to_owned(),
            text => text.to_owned(),
        };
        match value.split_once('/') {
            None => Self::Single(name(value)),
            Some((light, dark)) => Self::Automatic { light: name(light), dark: name(dark) },
        }
    }

    /// Returns the name of the theme for a terminal of this appearance.
    pub fn name(&self, appearance: Appearance) -> &str {
        match (self, appearance) {
            (Self::Single(name), _) => name,
            (Self::Automatic { light, .. }, Appearance::Light) => light,
            (Self::Automatic { dark, .. }, Appearance::Dark) => dark,
        }
    }

    /// Returns true if the theme depends on the colors of the terminal, which are then queried
    /// and followed.
    pub fn follows_terminal(&self) -> bool {
        match self {
            Self::Single(name) => name == "system",
            Self::Automatic { .. } => true,
        }
    }
}

/// Writes the value of the setting.
impl fmt::Display for ThemeChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Single(name) => f.write_str(name),
            Self::Automatic { light, dark } => write!(f, "{light}/{dark}"),
        }
    }
}

impl Theme {
    /// Creates the built-in theme with this name; `None` if the name is that of a file.
    pub fn builtin(name: &str, colors: &TerminalColors, depth: ColorDepth) -> Option<Self> {
        match name {
            "system" => Some(Self::system(colors, depth)),
            "dark" => Some(Self::dark()),
            "light" => Some(Self::light()),
            _ => None,
        }
    }
}
