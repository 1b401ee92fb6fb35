//! Colors and attributes of text.

mod palette;

use std::ops::BitOr;

pub(crate) use palette::of_256;
pub use palette::{Rgb, to_256};

use palette::to_16;

/// A color. RGB colors are reduced to what the terminal can show when they are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Color {
    /// The terminal's own foreground or background.
    #[default]
    Default,
    /// An entry of the terminal's palette.
    Indexed(u8),
    /// Red, green, blue.
    Rgb(u8, u8, u8),
}

impl Color {
    /// Returns the color as a terminal with this number of colors can show it.
    #[must_use]
    pub fn reduced(self, depth: ColorDepth) -> Self {
        match (self, depth) {
            (_, ColorDepth::None) => Self::Default,
            (Self::Rgb(r, g, b), ColorDepth::Ansi256) => Self::Indexed(to_256(r, g, b)),
            (Self::Rgb(r, g, b), ColorDepth::Ansi16) => Self::Indexed(to_16(r, g, b)),
            (Self::Indexed(index), ColorDepth::Ansi16) => match of_256(index) {
                Some(Rgb(r, g, b)) => Self::Indexed(to_16(r, g, b)),
                None => self,
            },
            _ => self,
        }
    }
}

/// The number of colors that a terminal can show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ColorDepth {
    /// No colors, only attributes, as `NO_COLOR` asks for.
    None,
    /// The 16 colors of the palette.
    Ansi16,
    /// 256 colors.
    #[default]
    Ansi256,
    /// Red, green and blue with 8 bits each.
    True,
}

/// A set of attributes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Attributes(u8);

#[allow(missing_docs)] // The names say it.
impl Attributes {
    pub const NONE: Self = Self(0);
    pub const BOLD: Self = Self(1);
    pub const FAINT: Self = Self(2);
    pub const ITALIC: Self = Self(4);
    pub const UNDERLINE: Self = Self(8);
    pub const INVERSE: Self = Self(16);
    pub const STRIKE: Self = Self(32);

    /// Returns true if all attributes of `other` are set.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the set without the attributes of `other`.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl BitOr for Attributes {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The look of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names say it.
pub struct Style {
    pub fg: Color,
    pub bg: Color,
    pub attributes: Attributes,
}

impl Style {
    /// The terminal's own colors, without attributes.
    pub const PLAIN: Self =
        Self { fg: Color::Default, bg: Color::Default, attributes: Attributes::NONE };

    /// Returns a style with this foreground.
    pub fn fg(color: Color) -> Self {
        Self { fg: color, ..Self::PLAIN }
    }

    /// Returns a style with this background.
    pub fn bg(color: Color) -> Self {
        Self { bg: color, ..Self::PLAIN }
    }

    /// Returns the style on another background.
    #[must_use]
    pub fn on(self, bg: Color) -> Self {
        Self { bg, ..self }
    }

    /// Returns the style with more attributes.
    #[must_use]
    pub fn with(self, attributes: Attributes) -> Self {
        Self { attributes: self.attributes | attributes, ..self }
    }

    /// Returns the style in bold.
    #[must_use]
    pub fn bold(self) -> Self {
        self.with(Attributes::BOLD)
    }

    /// Returns the style in italics.
    #[must_use]
    pub fn italic(self) -> Self {
        self.with(Attributes::ITALIC)
    }

    /// Returns the style with a line below.
    #[must_use]
    pub fn underline(self) -> Self {
        self.with(Attributes::UNDERLINE)
    }

    /// Returns the style with foreground and background exchanged.
    #[must_use]
    pub fn inverse(self) -> Self {
        self.with(Attributes::INVERSE)
    }

    /// Returns this style where it says something, and `base` elsewhere: colors that are not the
    /// default win, attributes are joined.
    #[must_use]
    pub fn over(self, base: Self) -> Self {
        Self {
            fg: if self.fg == Color::Default { base.fg } else { self.fg },
            bg: if self.bg == Color::Default { base.bg } else { self.bg },
            attributes: self.attributes | base.attributes,
        }
    }
}
