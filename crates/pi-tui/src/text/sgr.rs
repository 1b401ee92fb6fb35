//! Styles as escape sequences set them ("select graphic rendition").

use crate::style::{Attributes, Color, Style};

/// Returns the style after the parameters of a sequence: `1;38;5;9`, `4:3`, `38:2::1:2:3`.
/// Unknown parameters change nothing. Concealed text stays visible.
pub(super) fn apply(style: Style, parameters: &str) -> Style {
    let mut style = style;
    let mut fields = parameters.split(';');
    while let Some(field) = fields.next() {
        let mut parts = field.split(':').map(number);
        let code = parts.next().flatten();
        let parts: Vec<Option<u32>> = parts.take(6).collect();
        match code {
            Some(target @ (38 | 48 | 58)) => {
                let color = match parts.as_slice() {
                    // The old form takes the next fields.
                    [] => match fields.next().and_then(number) {
                        Some(5) => indexed(fields.next().and_then(number)),
                        Some(2) => {
                            let mut next = || fields.next().and_then(number);
                            rgb(next(), next(), next())
                        }
                        _ => None,
                    },
                    [Some(5), index, ..] => indexed(*index),
                    [Some(2), red, green, blue] => rgb(*red, *green, *blue),
                    // The second part is a color space.
                    [Some(2), _, red, green, blue, ..] => rgb(*red, *green, *blue),
                    _ => None,
                };
                match (target, color) {
                    (38, Some(color)) => style.fg = color,
                    (48, Some(color)) => style.bg = color,
                    _ => {}
                }
            }
            Some(4) if parts.first() == Some(&Some(0)) => {
                style = without(style, Attributes::UNDERLINE);
            }
            Some(code) => style = simple(style, code),
            None => {}
        }
    }
    style
}

/// Returns the style after a parameter that stands for itself.
fn simple(style: Style, code: u32) -> Style {
    match code {
        0 => Style::PLAIN,
        1 => style.with(Attributes::BOLD),
        2 => style.with(Attributes::FAINT),
        3 => style.with(Attributes::ITALIC),
        4 | 21 => style.with(Attributes::UNDERLINE),
        7 => style.with(Attributes::INVERSE),
        9 => style.with(Attributes::STRIKE),
        22 => without(style, Attributes::BOLD | Attributes::FAINT),
        23 => without(style, Attributes::ITALIC),
        24 => without(style, Attributes::UNDERLINE),
        27 => without(style, Attributes::INVERSE),
        29 => without(style, Attributes::STRIKE),
        30..=37 => Style { fg: palette(code - 30), ..style },
        39 => Style { fg: Color::Default, ..style },
        40..=47 => style.on(palette(code - 40)),
        49 => style.on(Color::Default),
        90..=97 => Style { fg: palette(code - 90 + 8), ..style },
        100..=107 => style.on(palette(code - 100 + 8)),
        _ => style,
    }
}

fn without(style: Style, attributes: Attributes) -> Style {
    Style { attributes: style.attributes.without(attributes), ..style }
}

fn palette(index: u32) -> Color {
    indexed(Some(index)).unwrap_or_default()
}

fn indexed(index: Option<u32>) -> Option<Color> {
    u8::try_from(index?).ok().map(Color::Indexed)
}

fn rgb(red: Option<u32>, green: Option<u32>, blue: Option<u32>) -> Option<Color> {
    let part = |value: Option<u32>| u8::try_from(value?).ok();
    Some(Color::Rgb(part(red)?, part(green)?, part(blue)?))
}

/// Reads a parameter. An empty one is 0; one that is no number has no meaning.
fn number(text: &str) -> Option<u32> {
    if text.is_empty() { Some(0) } else { text.parse().ok() }
}
