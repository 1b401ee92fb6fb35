//! Terminal output as text with colors.
//!
//! Colors and weights become classes. All other control sequences are dropped, and a line that was
//! redrawn (`\r`) shows its last content.

use super::escape;

const ESCAPE: char = '\x1b';

/// The style of text at some position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Style {
    /// Index of one of the eight colors.
    color: Option<u8>,
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
}

/// Appends terminal output as HTML.
pub(super) fn write(out: &mut String, text: &str) {
    if !text.contains([ESCAPE, '\r', '\u{9b}', '\u{8}']) {
        return escape::text(out, text);
    }
    let mut style = Style::default();
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        let line = line.trim_end_matches('\r');
        let shown = line.rfind('\r').map_or(line, |redrawn| &line[redrawn + 1..]);
        // Colors that the overwritten part set still apply.
        let overwritten = &line[..line.len() - shown.len()];
        each_run(overwritten, &mut style, |_, _| {});
        each_run(shown, &mut style, |style, run| style.write(out, run));
    }
}

/// Returns the text alone, for output without colors.
pub(super) fn strip(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        let line = line.trim_end_matches('\r');
        let shown = line.rsplit('\r').next().unwrap_or_default();
        each_run(shown, &mut Style::default(), |_, run| out.push_str(run));
    }
    out
}

/// Calls `each` with the pieces of text between escape sequences.
fn each_run(line: &str, style: &mut Style, mut each: impl FnMut(Style, &str)) {
    let mut rest = line;
    while let Some(at) = rest.find([ESCAPE, '\u{9b}']) {
        if at > 0 {
            each(*style, &rest[..at]);
        }
        rest = after_sequence(&rest[at..], style);
    }
    if !rest.is_empty() {
        each(*style, rest);
    }
}

/// Applies the sequence at the beginning of `text` and returns what follows it.
fn after_sequence<'a>(text: &'a str, style: &mut Style) -> &'a str {
    let mut characters = text.chars();
    let introducer = match characters.next() {
        Some(ESCAPE) => characters.next(),
        _ => Some('['),
    };
    let rest = characters.as_str();
    match introducer {
        Some('[') => {
            let Some(end) = rest.find(|c: char| ('@'..='~').contains(&c)) else { return "" };
            if rest[end..].starts_with('m') {
                style.apply(&rest[..end]);
            }
            &rest[end + 1..]
        }
        // Titles and links end with BEL or ESC \.
        Some(']' | 'P' | '^' | '_' | 'X') => match rest.find(['\x07', ESCAPE]) {
            Some(end) if rest[end..].starts_with('\x07') => &rest[end + 1..],
            Some(end) => rest[end + 1..].strip_prefix('\\').unwrap_or(&rest[end + 1..]),
            None => "",
        },
        // The selection of a character set has one more character.
        Some('(' | ')' | '#' | '%') => {
            let mut characters = rest.chars();
            characters.next();
            characters.as_str()
        }
        _ => rest,
    }
}

impl Style {
    fn write(self, out: &mut String, run: &str) {
        if self == Self::default() {
            return escape::text(out, run);
        }
        out.push_str("<span class=\"");
        let names = [
            (self.bold, "bold"),
            (self.dim, "dim"),
            (self.italic, "italic"),
            (self.underline, "underline"),
        ];
        for (_, name) in names.iter().filter(|(on, _)| *on) {
            out.push_str(name);
            out.push(' ');
        }
        if let Some(color) = self.color {
            // Bright colors are shown like normal ones.
            out.push_str(COLORS[usize::from(color % 8)]);
        }
        out.push_str("\">");
        escape::text(out, run);
        out.push_str("</span>");
    }

    /// Applies the parameters of `ESC [ … m`.
    fn apply(&mut self, parameters: &str) {
        let mut numbers = parameters.split([';', ':']).map(|n| n.parse::<u16>().unwrap_or(0));
        while let Some(number) = numbers.next() {
            match number {
                0 => *self = Self::default(),
                1 => self.bold = true,
                2 => self.dim = true,
                3 => self.italic = true,
                4 => self.underline = true,
                22 => (self.bold, self.dim) = (false, false),
                23 => self.italic = false,
                24 => self.underline = false,
                30..=37 => self.color = u8::try_from(number - 30).ok(),
                90..=97 => self.color = u8::try_from(number - 90).ok(),
                39 => self.color = None,
                38 => self.color = extended(&mut numbers),
                48 => drop(extended(&mut numbers)),
                _ => {}
            }
        }
    }
}

const COLORS: [&str; 8] = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

/// Returns the color after 38 or 48 as the nearest of eight.
fn extended(numbers: &mut impl Iterator<Item = u16>) -> Option<u8> {
    match numbers.next()? {
        5 => match numbers.next()? {
            index @ 0..=15 => u8::try_from(index % 8).ok(),
            index @ 16..=231 => {
                let index = index - 16;
                Some(nearest([index / 36 * 51, index / 6 % 6 * 51, index % 6 * 51]))
            }
            _ => None,
        },
        2 => Some(nearest([numbers.next()?, numbers.next()?, numbers.next()?])),
        _ => None,
    }
}

/// Returns the nearest of eight colors: each component is on or off, relative to the strongest.
fn nearest(rgb: [u16; 3]) -> u8 {
    let strongest = rgb.iter().copied().max().unwrap_or_default();
    let bit = |at: usize| u8::from(strongest >= 64 && rgb[at] * 3 >= strongest * 2) << at;
    bit(0) | bit(1) | bit(2)
}
