//! The color spaces of Björn Ottosson: Oklab, its polar form OkLCh, and OkHSL.
//!
//! The formulas and constants are those of the published articles ("A perceptual color space for
//! image processing", "Okhsv and Okhsl"). Borders of the sRGB gamut are found by bisection instead
//! of the fitted polynomials: exact, and short.

use crate::style::Rgb;

/// A color in Oklab: lightness 0 to 1, and two axes of hue.
#[derive(Debug, Clone, Copy)]
struct Oklab {
    lightness: f64,
    a: f64,
    b: f64,
}

impl Oklab {
    fn linear(self) -> [f64; 3] {
        let Self { lightness, a, b } = self;
        let l = (lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
        let m = (lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
        let s = (lightness - 0.089_484_177_5 * a - 1.291_485_548_0 * b).powi(3);
        [
            4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s,
            -1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s,
            -0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701_0 * s,
        ]
    }

    fn is_in_gamut(self, tolerance: f64) -> bool {
        self.linear().iter().all(|part| (-tolerance..=1.0 + tolerance).contains(part))
    }

    fn rgb(self) -> Rgb {
        let [r, g, b] = self.linear().map(encode);
        Rgb(r, g, b)
    }
}

/// Hue in degrees, chroma and lightness of a color in OkLCh.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Oklch {
    pub(super) lightness: f64,
    pub(super) chroma: f64,
    pub(super) hue: f64,
}

impl Oklch {
    pub(super) fn from_rgb(Rgb(r, g, b): Rgb) -> Self {
        let [r, g, b] = [r, g, b].map(decode);
        let l = (0.412_221_470_8 * r + 0.536_332_536_3 * g + 0.051_445_992_9 * b).cbrt();
        let m = (0.211_903_498_2 * r + 0.680_699_545_1 * g + 0.107_396_956_6 * b).cbrt();
        let s = (0.088_302_461_9 * r + 0.281_718_837_6 * g + 0.629_978_700_5 * b).cbrt();
        let lightness = 0.210_454_255_3 * l + 0.793_617_785_0 * m - 0.004_072_046_8 * s;
        let a = 1.977_998_495_1 * l - 2.428_592_205_0 * m + 0.450_593_709_9 * s;
        let b = 0.025_904_037_1 * l + 0.782_771_766_2 * m - 0.808_675_766_0 * s;
        Self { lightness, chroma: a.hypot(b), hue: b.atan2(a).to_degrees().rem_euclid(360.0) }
    }

    /// Returns the color; chroma outside of the sRGB gamut is reduced, lightness and hue stay.
    pub(super) fn rgb(self) -> Rgb {
        let hue = Hue::new(self.hue);
        let lightness = self.lightness.clamp(0.0, 1.0);
        let color = hue.at(lightness, self.chroma);
        // The corners of the gamut, written with few digits, are a little outside.
        if color.is_in_gamut(0.002) {
            return color.rgb();
        }
        hue.at(lightness, self.chroma.min(hue.max_chroma(lightness))).rgb()
    }

    /// Returns the lightness on the scale of OkHSL, 0 to 1.
    pub(super) fn hsl_lightness(self) -> f64 {
        toe(self.lightness)
    }
}

/// A hue, with everything about it that colors of OkHSL need.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hue {
    a: f64,
    b: f64,
    /// Chroma by lightness, and by distance to white, of the most colorful color.
    cusp: (f64, f64),
    /// The same of a smooth shape inside of the gamut.
    middle: (f64, f64),
}

impl Hue {
    pub(super) fn new(degrees: f64) -> Self {
        let (b, a) = degrees.to_radians().sin_cos();
        let saturation = last_where(2.0, |s| {
            Oklab { lightness: 1.0, a: s * a, b: s * b }.linear().iter().all(|part| *part >= 0.0)
        });
        let brightest = Oklab { lightness: 1.0, a: saturation * a, b: saturation * b }
            .linear()
            .into_iter()
            .fold(f64::MIN_POSITIVE, f64::max);
        let lightness = brightest.recip().cbrt();
        let cusp = (saturation, lightness * saturation / (1.0 - lightness));
        let by_lightness = 0.115_169_93
            + 1.0
                / (7.447_789_70
                    + 4.159_012_40 * b
                    + a * (-2.195_573_47
                        + 1.751_984_01 * b
                        + a * (-2.137_049_48 - 10.023_010_43 * b
                            + a * (-4.248_945_61 + 5.387_708_19 * b + 4.698_910_13 * a))));
        let by_white = 0.112_396_42
            + 1.0
                / (1.613_203_20 - 0.681_243_79 * b
                    + a * (0.403_706_12
                        + 0.901_481_23 * b
                        + a * (-0.270_879_43
                            + 0.612_239_90 * b
                            + a * (0.002_992_15 - 0.453_995_68 * b - 0.146_618_72 * a))));
        Self { a, b, cusp, middle: (by_lightness, by_white) }
    }

    fn at(self, lightness: f64, chroma: f64) -> Oklab {
        Oklab { lightness, a: chroma * self.a, b: chroma * self.b }
    }

    fn max_chroma(self, lightness: f64) -> f64 {
        last_where(0.5, |chroma| self.at(lightness, chroma).is_in_gamut(1e-9))
    }

    /// Returns the color with this saturation and lightness (0 to 1) in OkHSL.
    pub(super) fn rgb(self, saturation: f64, lightness: f64) -> Rgb {
        let saturation = saturation.clamp(0.0, 1.0);
        let lightness = toe_inverse(lightness.clamp(0.0, 1.0));
        if lightness <= 0.0 || lightness >= 1.0 {
            return self.at(lightness, 0.0).rgb();
        }
        let white = 1.0 - lightness;
        let max = self.max_chroma(lightness);
        let k = max / (lightness * self.cusp.0).min(white * self.cusp.1);
        let middle = 0.9 * k * soft_min(lightness * self.middle.0, white * self.middle.1, 4);
        let zero = soft_min(lightness * 0.4, white * 0.8, 2);
        let chroma = if saturation < 0.8 {
            let t = saturation / 0.8;
            let k1 = 0.8 * zero;
            t * k1 / (1.0 - (1.0 - k1 / middle) * t)
        } else {
            let t = (saturation - 0.8) / 0.2;
            let k1 = 0.2 * (middle / 0.8).powi(2) / zero;
            middle + t * k1 / (1.0 - (1.0 - k1 / (max - middle)) * t)
        };
        self.at(lightness, chroma).rgb()
    }
}

/// Returns a value a little below the smaller one, without a kink where they are equal.
fn soft_min(x: f64, y: f64, power: i32) -> f64 {
    (1.0 / (x.powi(-power) + y.powi(-power))).powf(1.0 / f64::from(power))
}

/// Returns the largest value up to `limit` for which the condition, true at 0, is still true.
fn last_where(limit: f64, condition: impl Fn(f64) -> bool) -> f64 {
    const STEPS: usize = 24;
    let (mut low, mut high) = (0.0, limit);
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        if condition(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

const TOE: (f64, f64, f64) = (0.206, 0.03, 1.206 / 1.03);

/// Converts the lightness of Oklab to that of OkHSL.
fn toe(lightness: f64) -> f64 {
    let (k1, k2, k3) = TOE;
    let x = k3 * lightness - k1;
    0.5 * (x + (x * x + 4.0 * k2 * k3 * lightness).sqrt())
}

fn toe_inverse(lightness: f64) -> f64 {
    let (k1, k2, k3) = TOE;
    (lightness * lightness + k1 * lightness) / (k3 * (lightness + k2))
}

/// Converts a part of a linear color to a byte of sRGB.
fn encode(part: f64) -> u8 {
    let part = part.clamp(0.0, 1.0);
    let encoded =
        if part <= 0.003_130_8 { 12.92 * part } else { 1.055 * part.powf(1.0 / 2.4) - 0.055 };
    (encoded * 255.0).round() as u8
}

/// Converts a byte of sRGB to a part of a linear color.
pub(super) fn decode(byte: u8) -> f64 {
    let part = f64::from(byte) / 255.0;
    if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
}
