//! Themes: the colors of everything that is drawn, by name.

pub mod builtin;
pub mod choice;
mod color;
pub mod file;
mod ok;
mod sequences;
pub mod system;
#[cfg(test)]
mod tests;
pub mod token;

pub use choice::ThemeChoice;
pub use file::{ExportColors, ThemeError, ThemeProblem};
pub use system::TerminalColors;
pub use token::Token;

use std::sync::atomic::{AtomicU64, Ordering};

use crate::style::{Color, Style};

/// The appearance that a theme is made for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub enum Appearance {
    #[default]
    Dark,
    Light,
}

/// A theme. Every token has a style for text and a color for backgrounds.
#[derive(Debug, Clone)]
pub struct Theme {
    name: String,
    generation: u64,
    appearance: Appearance,
    styles: Vec<Style>,
    export: ExportColors,
}

impl Theme {
    /// Creates a theme in which everything has the terminal's own colors, for `NO_COLOR`.
    pub fn plain() -> Self {
        Self::new("plain".to_owned(), Appearance::default(), vec![Style::PLAIN; Token::COUNT])
    }

    /// Creates a theme from the styles of all tokens, in their order.
    fn new(name: String, appearance: Appearance, styles: Vec<Style>) -> Self {
        static GENERATIONS: AtomicU64 = AtomicU64::new(0);
        let generation = GENERATIONS.fetch_add(1, Ordering::Relaxed);
        Self { name, generation, appearance, styles, export: ExportColors::default() }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the appearance that the theme is made for.
    pub fn appearance(&self) -> Appearance {
        self.appearance
    }

    /// Returns a number that differs between all themes that were created: the key of caches.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the style of text in this color: a foreground, or attributes where the terminal has
    /// no color for it.
    pub fn fg(&self, token: Token) -> Style {
        self.styles.get(token as usize).copied().unwrap_or_default()
    }

    /// Returns the colors for exported pages that the theme's file sets.
    pub fn export(&self) -> ExportColors {
        self.export
    }

    /// Returns the color of this background.
    pub fn bg(&self, token: Token) -> Color {
        self.fg(token).fg
    }
}
