//! Colors as numbers: how theme files write them, contrast, and what terminals with fewer colors
//! show instead.

use super::ok::{Hue, Oklch, decode};
use crate::style::Color;

/// Red, green, blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl From<Rgb> for Color {
    fn from(Rgb(r, g, b): Rgb) -> Self {
        Self::Rgb(r, g, b)
    }
}

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

/// The levels of red, green and blue in the color cube of palettes with 256 entries.
const CUBE: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// Returns the entry of a palette with 256 colors that is nearest.
///
/// Grays of the ramp are used for nearly neutral colors only: in other colors they would win often,
/// and the hue, which carries meaning, would be lost.
pub fn to_256(r: u8, g: u8, b: u8) -> u8 {
    const NEUTRAL: u8 = 10;
    let nearest = |value: u8| {
        (0..6u8).min_by_key(|i| CUBE[usize::from(*i)].abs_diff(value)).unwrap_or_default()
    };
    let cube = [r, g, b].map(nearest);
    let [cr, cg, cb] = cube.map(|i| CUBE[usize::from(i)]);
    let entry = 16 + 36 * cube[0] + 6 * cube[1] + cube[2];
    if r.max(g).max(b) - r.min(g).min(b) >= NEUTRAL {
        return entry;
    }
    let mean = (u16::from(r) + u16::from(g) + u16::from(b)) / 3;
    let step = (mean.saturating_sub(3) / 10).min(23) as u8;
    let gray = 8 + 10 * step;
    let distance = |r2: u8, g2: u8, b2: u8| -> u32 {
        [(r, r2), (g, g2), (b, b2)].iter().map(|(x, y)| u32::from(x.abs_diff(*y)).pow(2)).sum()
    };
    if distance(gray, gray, gray) < distance(cr, cg, cb) { 232 + step } else { entry }
}

/// Returns the entry of a palette with 16 colors that resembles the color most.
///
/// The colors of such palettes differ between terminals, so the hue decides, not a distance. Dark
/// and nearly neutral colors become a gray: a saturated background would make text unreadable.
pub fn to_16(r: u8, g: u8, b: u8) -> u8 {
    const DARK: u8 = 100;
    const NEUTRAL: u8 = 32;
    const BRIGHT: u8 = 192;
    let (max, min) = (r.max(g).max(b), r.min(g).min(b));
    let spread = max - min;
    if max < DARK || spread < NEUTRAL {
        return match f64::from(max).midpoint(f64::from(min)) as u8 {
            0..80 => 0,
            80..176 => 8,
            176..240 => 7,
            240.. => 15,
        };
    }
    // Sixths of the circle: red, yellow, green, cyan, blue, magenta.
    const HUES: [u8; 6] = [1, 3, 2, 6, 4, 5];
    let (red, green, blue) = (f64::from(r), f64::from(g), f64::from(b));
    let spread = f64::from(spread);
    let sixth = if max == r {
        (green - blue) / spread
    } else if max == g {
        2.0 + (blue - red) / spread
    } else {
        4.0 + (red - green) / spread
    };
    let hue = HUES[sixth.round().rem_euclid(6.0) as usize % 6];
    if max >= BRIGHT { hue + 8 } else { hue }
}

/// Returns the color of an entry from 16 to 255, which all terminals have in common.
pub(crate) fn of_256(index: u8) -> Option<Rgb> {
    match index {
        0..16 => None,
        16..232 => {
            let i = index - 16;
            let level = |i: u8| CUBE[usize::from(i % 6)];
            Some(Rgb(level(i / 36), level(i / 6), level(i)))
        }
        232.. => {
            let gray = 8 + 10 * (index - 232);
            Some(Rgb(gray, gray, gray))
        }
    }
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
