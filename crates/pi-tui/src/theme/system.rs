//! The theme `system`: made from the colors that the terminal reports.
//!
//! Every token has a hue, bound to an entry of the palette, and a lightness that is moved until
//! the text can be read on each surface it may lie on. Nothing is asked of the terminal here.

use super::builtin::pair;
use super::color::contrast;
use super::ok::{Hue, Oklch};
use super::{Appearance, Theme, Token};
use crate::style::{Attributes, Color, ColorDepth, Rgb, Style, of_256, to_256};

/// Contrast that text keeps to every surface.
pub const TEXT_CONTRAST: f64 = 4.5;

/// Contrast of lines and other shapes to the background.
const SHAPE_CONTRAST: f64 = 3.0;

/// Contrast that panels leave to black or white text, so that colors still differ on them.
const PANEL_CONTRAST: f64 = 7.0;

/// Everything known about the colors of a terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TerminalColors {
    /// Color of text, as reported.
    pub foreground: Option<Rgb>,
    /// Color behind the text, as reported.
    pub background: Option<Rgb>,
    /// The first 16 entries of the palette, as far as they were reported.
    pub palette: [Option<Rgb>; 16],
    /// The reported color scheme.
    pub scheme: Option<Appearance>,
    /// Value of the variable `COLORFGBG`.
    pub colorfgbg: Option<String>,
}

impl TerminalColors {
    /// Returns the appearance: by the reported colors, then the reported scheme, then
    /// `COLORFGBG`; otherwise dark.
    pub fn appearance(&self) -> Appearance {
        if let Some(background) = self.background {
            let is_light = match self.foreground {
                Some(foreground) if foreground != background => {
                    background.luminance() > foreground.luminance()
                }
                _ => text_is_dark_on(background),
            };
            return if is_light { Appearance::Light } else { Appearance::Dark };
        }
        self.scheme.or_else(|| from_colorfgbg(self.colorfgbg.as_deref()?)).unwrap_or_default()
    }
}

/// Reads the background from `COLORFGBG`, its last field: an entry of the palette.
fn from_colorfgbg(value: &str) -> Option<Appearance> {
    let entry: u8 = value.rsplit(';').next()?.trim().parse().ok()?;
    match entry {
        0..=6 | 8 => Some(Appearance::Dark),
        7 | 9..=15 => Some(Appearance::Light),
        16.. => None,
    }
}

fn text_is_dark_on(background: Rgb) -> bool {
    background.contrast(Rgb(0, 0, 0)) > background.contrast(Rgb(255, 255, 255))
}

/// A group of tokens with the same hue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    /// The text itself.
    Text,
    /// Secondary text, in gray.
    Neutral,
    /// An entry of the palette.
    Slot(u8),
}

fn family(token: Token) -> Family {
    use Token::*;
    match token {
        Text | ToolTitle | UserMessageText | SearchMatchText | ScrollbarThumb => Family::Text,
        Muted | Dim | BorderMuted | ThinkingText | CustomMessageText | ToolPendingBg
        | ToolOutput | MdLinkUrl | MdCodeBlockBorder | MdQuote | MdQuoteBorder | MdHr
        | ToolDiffContext | SyntaxComment | SyntaxOperator | SyntaxPunctuation | ThinkingOff
        | ScrollbarTrack => Family::Neutral,
        Error | ToolErrorBg | ToolDiffRemoved | ThinkingMax => Family::Slot(1),
        Success | ToolSuccessBg | ToolDiffAdded | MdCodeBlock | SyntaxString | BashMode => {
            Family::Slot(2)
        }
        Warning | MdHeading | SyntaxFunction | SearchMatchBg => Family::Slot(3),
        Border | SelectedBg | UserMessageBg | MdLink | SyntaxKeyword | ThinkingMinimal
        | ThinkingLow => Family::Slot(4),
        Accent | BorderAccent | CustomMessageBg | CustomMessageLabel | MdCode | MdListBullet
        | SyntaxNumber | SyntaxType | ThinkingHigh => Family::Slot(5),
        SyntaxVariable | ThinkingMedium => Family::Slot(6),
        ThinkingXhigh => Family::Slot(13),
    }
}

/// Returns true for tokens that are backgrounds of text.
fn is_panel(token: Token) -> bool {
    PANELS.contains(&token) || token == Token::SearchMatchBg
}

/// The backgrounds on which text of every token may lie.
const PANELS: [Token; 6] = [
    Token::SelectedBg,
    Token::UserMessageBg,
    Token::CustomMessageBg,
    Token::ToolPendingBg,
    Token::ToolSuccessBg,
    Token::ToolErrorBg,
];

/// Returns true for tokens that no text is drawn with.
fn is_shape(token: Token) -> bool {
    use Token::*;
    matches!(
        token,
        Border
            | BorderAccent
            | BorderMuted
            | MdQuoteBorder
            | MdHr
            | ScrollbarTrack
            | ScrollbarThumb
    )
}

impl Theme {
    /// Creates the theme `system` for a terminal.
    ///
    /// Without a known background, and with 16 colors, the colors are entries of the palette,
    /// panels have no background, and secondary text is faint.
    pub fn system(colors: &TerminalColors, depth: ColorDepth) -> Self {
        let styles = match (colors.background, depth) {
            (None, _) | (_, ColorDepth::Ansi16) => {
                Token::ALL.iter().map(|token| indexed(*token)).collect()
            }
            (Some(background), _) => Derivation::new(colors, background, depth).styles(),
        };
        Self::new("system".to_owned(), colors.appearance(), styles)
    }
}

/// Returns the style of a token when nothing is known about the terminal's colors.
fn indexed(token: Token) -> Style {
    match family(token) {
        // Found text must stand out, and no attribute of a `Color` can make it.
        _ if token == Token::SearchMatchBg => Style::fg(Color::Indexed(3)),
        _ if token == Token::SearchMatchText => Style::fg(Color::Indexed(0)),
        _ if is_panel(token) => Style::PLAIN,
        Family::Text => Style::PLAIN,
        Family::Neutral => Style::PLAIN.with(Attributes::FAINT),
        Family::Slot(slot) => Style::fg(Color::Indexed(slot)),
    }
}

/// A background of text.
struct Panel {
    token: Token,
    color: Color,
    /// Luminance of the color that the terminal shows.
    luminance: f64,
}

/// A color before contrast is considered, in OkHSL.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Usual {
    family: Family,
    hue: f64,
    saturation: f64,
    lightness: f64,
}

/// The colors of a theme, derived from a background.
struct Derivation<'a> {
    colors: &'a TerminalColors,
    depth: ColorDepth,
    background: Rgb,
    /// Black or white, the one with more contrast to the background.
    extreme: Rgb,
    panels: Vec<Panel>,
}

impl<'a> Derivation<'a> {
    fn new(colors: &'a TerminalColors, background: Rgb, depth: ColorDepth) -> Self {
        let extreme = if text_is_dark_on(background) { Rgb(0, 0, 0) } else { Rgb(255, 255, 255) };
        let mut derivation = Self { colors, depth, background, extreme, panels: Vec::new() };
        let panels = Token::ALL.iter().filter(|token| is_panel(**token));
        derivation.panels = panels.map(|token| derivation.panel(*token)).collect();
        derivation
    }

    fn styles(&self) -> Vec<Style> {
        // Many tokens have the same color, and finding it takes a while.
        let mut found: Vec<((Usual, Vec<usize>), Color)> = Vec::new();
        let style = |token: &Token| {
            if let Some(panel) = self.panels.iter().find(|panel| panel.token == *token) {
                return Style::fg(panel.color);
            }
            let key = (self.usual(*token), self.panels_below(*token));
            let color = match found.iter().find(|(known, _)| *known == key) {
                Some((_, color)) => *color,
                None => {
                    let color = self.color(*token, &key.1);
                    found.push((key, color));
                    color
                }
            };
            Style::fg(color)
        };
        Token::ALL.iter().map(style).collect()
    }

    /// Returns the indices of the panels on which a token may lie.
    fn panels_below(&self, token: Token) -> Vec<usize> {
        let lies_on = |(_, panel): &(usize, &Panel)| match token {
            Token::SearchMatchText => panel.token == Token::SearchMatchBg,
            _ => !is_shape(token) && PANELS.contains(&panel.token),
        };
        self.panels.iter().enumerate().filter(lies_on).map(|(index, _)| index).collect()
    }

    fn color(&self, token: Token, panels: &[usize]) -> Color {
        let needed = if is_shape(token) { SHAPE_CONTRAST } else { TEXT_CONTRAST };
        let panels = panels.iter().filter_map(|index| self.panels.get(*index));
        let surfaces: Vec<f64> =
            panels.map(|panel| panel.luminance).chain([self.background.luminance()]).collect();
        let is_readable = |color: Rgb| {
            let luminance = color.luminance();
            surfaces.iter().all(|surface| contrast(*surface, luminance) >= needed)
        };
        if family(token) == Family::Text && self.colors.foreground.is_some_and(is_readable) {
            return Color::Default;
        }
        self.text(token, |color| is_readable(self.shown(color))).into()
    }

    /// Returns the color of a token, as near to its usual lightness as it is readable.
    fn text(&self, token: Token, is_readable: impl Fn(Rgb) -> bool) -> Rgb {
        const STEP: f64 = 0.02;
        let usual = self.usual(token);
        let hue = Hue::new(usual.hue);
        let mut lightness = usual.lightness;
        let goal = if self.extreme == Rgb(0, 0, 0) { 0.0 } else { 1.0 };
        while (lightness - goal).abs() > STEP {
            let color = hue.rgb(usual.saturation, lightness);
            if is_readable(color) {
                return color;
            }
            lightness += STEP.copysign(goal - lightness);
        }
        self.extreme
    }

    /// Returns the color of a panel: a little away from the background, toward the text if the
    /// text has contrast to spare.
    fn panel(&self, token: Token) -> Panel {
        let usual = self.usual(token);
        let hue = Hue::new(usual.hue);
        let lightness = Oklch::from_rgb(self.background).hsl_lightness();
        let shift = if self.extreme == Rgb(0, 0, 0) { -0.08 } else { 0.11 };
        let spare = self.background.contrast(self.extreme) * 0.9;
        let needed = spare.clamp(TEXT_CONTRAST, PANEL_CONTRAST);
        for part in [1.0, 0.5, -0.5, -1.0] {
            let color = hue.rgb(usual.saturation, lightness + part * shift);
            let shown = self.shown(color);
            if shown.contrast(self.extreme) >= needed {
                return Panel { token, color: color.into(), luminance: shown.luminance() };
            }
        }
        Panel { token, color: Color::Default, luminance: self.background.luminance() }
    }

    /// Returns the color of a token in the built-in themes, with the hue of the palette.
    fn usual(&self, token: Token) -> Usual {
        /// Entries of the palette with less chroma are grays, and have no hue.
        const COLORFUL: f64 = 0.03;
        let (dark, light) = pair(token);
        let (_, saturation, lightness) = if self.extreme == Rgb(0, 0, 0) { light } else { dark };
        let family = family(token);
        let (slot, own) = match family {
            Family::Text | Family::Neutral => (8, 229.0),
            Family::Slot(slot) => (slot, own_hue(slot)),
        };
        let mut usual = Usual {
            family,
            hue: own,
            saturation: f64::from(saturation) / 100.0,
            lightness: f64::from(lightness) / 100.0,
        };
        let entry = self.colors.palette.get(usize::from(slot)).copied().flatten();
        if let Some(entry) = entry.map(Oklch::from_rgb) {
            if entry.chroma < COLORFUL {
                usual.saturation = usual.saturation.min(0.08);
            } else {
                usual.hue = entry.hue;
            }
        }
        usual
    }

    /// Returns the color that the terminal shows for this one.
    fn shown(&self, color: Rgb) -> Rgb {
        match self.depth {
            ColorDepth::True => color,
            _ => of_256(to_256(color.0, color.1, color.2)).unwrap_or(color),
        }
    }
}

/// Returns the hue of a palette entry in the built-in themes.
fn own_hue(slot: u8) -> f64 {
    match slot {
        1 => 20.0,
        2 => 159.0,
        3 => 83.0,
        4 => 232.0,
        5 => 295.0,
        6 => 202.0,
        13 => 337.0,
        _ => 229.0,
    }
}
