//! Colors as numbers: how theme files write them, and contrast.

use super::ok::{Hue, Oklch, decode};
use crate::style::{Color, Rgb};

impl Rgb {
    /// Returns the color with this hue in degrees, saturation and lightness in percent, in OkHSL.
    pub fn from_okhsl(hue: f64, saturation: f64, lightness: f64) -> Self {
        Hue::new(hue).rgb(saturation / 100.0, lightness / 100.0)
    }

    /// Returns the color with this lightness in percent, chroma, and hue in degrees, in OkLCh. A
    /// chroma that sRGB does not have is reduced.
    pub fn from_oklch(lightness: f64, chroma: f64, hue: f64) -> Self {
        Oklch { lightness: lightness / 100.0, chroma: chroma.max(0.0), hue }.rgb()
    }

    /// Returns the luminance relative to white, 0 to 1, by the formula of WCAG.
    pub fn luminance(self) -> f64 {
        0.2126 * decode(self.0) + 0.7152 * decode(self.1) + 0.0722 * decode(self.2)
    }

    /// Returns the contrast of two colors by the formula of WCAG, 1 to 21.
    pub fn contrast(self, other: Self) -> f64 {
        contrast(self.luminance(), other.luminance())
    }
}

/// Returns the contrast of two luminances.
pub(super) fn contrast(x: f64, y: f64) -> f64 {
    (x.max(y) + 0.05) / (x.min(y) + 0.05)
}

/// A color as theme files write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Written {
    Color(Color),
    /// The name of a variable.
    Variable(String),
    Invalid,
}

/// Parses a color of a theme file. Text that has no other meaning is the name of a variable.
pub(super) fn parse(text: &str) -> Written {
    if text.is_empty() {
        return Written::Color(Color::Default);
    }
    let parsed = if let Some(digits) = text.strip_prefix('#') {
        parse_hex(digits)
    } else if let Some(parts) = function(text, "oklch(") {
        parse_oklch(parts)
    } else if let Some(parts) = function(text, "okhsl(") {
        parse_okhsl(parts)
    } else {
        return Written::Variable(text.to_owned());
    };
    parsed.map_or(Written::Invalid, |rgb| Written::Color(rgb.into()))
}

fn function<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.strip_prefix(name)?.strip_suffix(')')
}

fn parse_hex(digits: &str) -> Option<Rgb> {
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let number = u32::from_str_radix(digits, 16).ok()?;
    let part = |shift: u32, mask: u32| ((number >> shift) & mask) as u8;
    match digits.len() {
        3 => Some(Rgb(part(8, 15) * 17, part(4, 15) * 17, part(0, 15) * 17)),
        6 => Some(Rgb(part(16, 255), part(8, 255), part(0, 255))),
        _ => None,
    }
}

fn parse_oklch(parts: &str) -> Option<Rgb> {
    let [lightness, chroma, hue] = three(parts)?;
    Some(Rgb::from_oklch(percent(lightness)?, number(chroma).filter(|c| *c >= 0.0)?, number(hue)?))
}

fn parse_okhsl(parts: &str) -> Option<Rgb> {
    let [hue, saturation, lightness] = three(parts)?;
    Some(Rgb::from_okhsl(number(hue)?, percent(saturation)?, percent(lightness)?))
}

fn three(parts: &str) -> Option<[&str; 3]> {
    let parts: Vec<&str> = parts.split_whitespace().collect();
    parts.try_into().ok()
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

fn percent(text: &str) -> Option<f64> {
    number(text.strip_suffix('%')?).filter(|percent| (0.0..=100.0).contains(percent))
}
