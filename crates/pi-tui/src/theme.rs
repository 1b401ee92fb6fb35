//! Themes: the colors of everything that is drawn, by name.

pub mod token;

pub use token::Token;

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
    styles: Vec<Style>,
}

impl Theme {
    /// Creates a theme in which everything has the terminal's own colors, for `NO_COLOR`.
    pub fn plain() -> Self {
        Self { name: "plain".to_owned(), generation: 0, styles: vec![Style::PLAIN; Token::COUNT] }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns a number that differs between all themes that were in use: the key of caches.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the style of text in this color: a foreground, or attributes where the terminal has
    /// no color for it.
    pub fn fg(&self, token: Token) -> Style {
        self.styles.get(token as usize).copied().unwrap_or_default()
    }

    /// Returns the color of this background.
    pub fn bg(&self, token: Token) -> Color {
        self.fg(token).fg
    }
}
