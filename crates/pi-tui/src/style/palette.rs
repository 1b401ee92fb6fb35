//! Palettes of terminals with fewer colors: the entries that are shown instead of a color.

use super::Color;

/// Red, green, blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl From<Rgb> for Color {
    fn from(Rgb(r, g, b): Rgb) -> Self {
        Self::Rgb(r, g, b)
    }
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
pub(super) fn to_16(r: u8, g: u8, b: u8) -> u8 {
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
