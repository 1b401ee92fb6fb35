//! The built-in themes `dark` and `light`, and the colors of the logo.

use super::{Appearance, Theme, Token};
use crate::style::{Color, Rgb, Style};

/// The blue of the logo.
pub const LOGO_BLUE: Color = Color::Rgb(79, 142, 179);
/// The red of the logo.
pub const LOGO_RED: Color = Color::Rgb(228, 138, 122);
/// The yellow of the logo.
pub const LOGO_YELLOW: Color = Color::Rgb(234, 182, 93);

/// Hue in degrees, saturation and lightness in percent.
type Okhsl = (u16, u8, u8);

/// A color of the dark theme and its counterpart in the light one.
type Pair = (Okhsl, Okhsl);

const TEXT: Pair = ((234, 3, 89), (225, 5, 27));
const MUTED: Pair = ((229, 6, 67), (229, 8, 47));
const DIM: Pair = ((229, 8, 56), (229, 7, 59));
const VIOLET: Pair = ((295, 50, 67), (295, 60, 46));
const BLUE: Pair = ((232, 54, 67), (231, 68, 47));
const GREEN: Pair = ((159, 59, 67), (159, 75, 46));
const RED: Pair = ((20, 72, 67), (20, 91, 47));
const YELLOW: Pair = ((83, 88, 67), (83, 99, 47));
const BLUE_BG: Pair = ((233, 41, 24), (235, 19, 91));

/// Returns the color of a token in both themes.
pub(super) fn pair(token: Token) -> Pair {
    use Token::*;
    match token {
        Text | ToolTitle | UserMessageText => TEXT,
        Dim => DIM,
        Accent | MdCode | MdListBullet | CustomMessageLabel | SyntaxType => VIOLET,
        MdLink | SyntaxKeyword => BLUE,
        Success | MdCodeBlock | ToolDiffAdded | SyntaxNumber => GREEN,
        Error | ToolDiffRemoved => RED,
        Warning | MdHeading | SyntaxFunction => YELLOW,
        Muted | CustomMessageText | ToolOutput | MdLinkUrl | MdCodeBlockBorder | MdQuote
        | MdQuoteBorder | MdHr | ToolDiffContext | SyntaxComment | SyntaxOperator
        | SyntaxPunctuation | SearchMatchText => MUTED,
        SelectedBg | UserMessageBg => BLUE_BG,
        CustomMessageBg => ((295, 42, 24), (295, 25, 91)),
        ToolPendingBg => ((229, 5, 24), (248, 3, 91)),
        ToolSuccessBg => ((158, 46, 25), (156, 21, 91)),
        ToolErrorBg => ((19, 54, 25), (24, 23, 91)),
        Border => ((231, 57, 65), (231, 67, 55)),
        BorderAccent => ((295, 53, 64), (295, 59, 55)),
        BorderMuted => ((229, 8, 53), (235, 7, 66)),
        ThinkingText => ((226, 7, 65), (234, 8, 55)),
        SyntaxVariable => ((202, 58, 67), (203, 73, 46)),
        SyntaxString => ((52, 67, 67), (52, 84, 46)),
        ThinkingOff => ((229, 8, 49), (223, 5, 80)),
        ThinkingMinimal => ((232, 20, 52), (229, 14, 78)),
        ThinkingLow => ((232, 45, 54), (232, 33, 76)),
        ThinkingMedium => ((263, 59, 56), (264, 48, 74)),
        ThinkingHigh => ((295, 73, 59), (295, 62, 72)),
        ThinkingXhigh => ((337, 81, 61), (337, 74, 70)),
        ThinkingMax => ((20, 99, 63), (20, 98, 68)),
        BashMode => ((159, 64, 65), (159, 74, 55)),
        SearchMatchBg => ((53, 51, 24), (56, 22, 91)),
        ScrollbarTrack => ((237, 7, 33), (248, 3, 90)),
        ScrollbarThumb => ((232, 7, 65), (226, 7, 65)),
    }
}

impl Theme {
    /// Creates the built-in theme `dark`.
    pub fn dark() -> Self {
        builtin("dark", Appearance::Dark)
    }

    /// Creates the built-in theme `light`.
    pub fn light() -> Self {
        builtin("light", Appearance::Light)
    }
}

fn builtin(name: &str, appearance: Appearance) -> Theme {
    let style = |token: &Token| {
        let (dark, light) = pair(*token);
        let (hue, saturation, lightness) = match appearance {
            Appearance::Dark => dark,
            Appearance::Light => light,
        };
        Style::fg(Rgb::from_okhsl(hue.into(), saturation.into(), lightness.into()).into())
    };
    Theme::new(name.to_owned(), appearance, Token::ALL.iter().map(style).collect())
}
