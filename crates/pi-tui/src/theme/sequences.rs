//! The escape sequences of tokens, for extensions that write their own text.

use std::collections::BTreeMap;

use super::{Theme, Token};
use crate::style::{Attributes, Color, ColorDepth};

impl Theme {
    /// Returns the sequence that selects each token as the color of text, by the token's name.
    pub fn foreground_sequences(&self, depth: ColorDepth) -> BTreeMap<String, String> {
        self.sequences(|token| {
            let style = self.fg(token);
            let color = sequence(style.fg.reduced(depth), 3);
            let faint = style.attributes.contains(Attributes::FAINT);
            if faint { format!("{color}\x1b[2m") } else { color }
        })
    }

    /// Returns the sequence that selects each token as the background, by the token's name.
    pub fn background_sequences(&self, depth: ColorDepth) -> BTreeMap<String, String> {
        self.sequences(|token| sequence(self.bg(token).reduced(depth), 4))
    }

    fn sequences(&self, sequence: impl Fn(Token) -> String) -> BTreeMap<String, String> {
        Token::ALL.iter().map(|token| (token.name().to_owned(), sequence(*token))).collect()
    }
}

/// Returns the sequence of a color; `ground` is 3 for text and 4 for the background.
fn sequence(color: Color, ground: u8) -> String {
    match color {
        Color::Default => format!("\x1b[{ground}9m"),
        Color::Indexed(index) => format!("\x1b[{ground}8;5;{index}m"),
        Color::Rgb(r, g, b) => format!("\x1b[{ground}8;2;{r};{g};{b}m"),
    }
}
