//! Tests of themes against colors that pi 1.5.0 was seen to use.

use super::*;
use crate::style::ColorDepth;

#[test]
fn builtin_themes_have_the_recorded_colors() {
    let (dark, light) = (Theme::dark(), Theme::light());
    for (theme, token, (r, g, b)) in [
        (&dark, Token::Text, (222, 224, 225)),
        (&dark, Token::Muted, (157, 165, 169)),
        (&dark, Token::Dim, (126, 136, 142)),
        (&dark, Token::Accent, (167, 152, 215)),
        (&dark, Token::MdLink, (105, 173, 208)),
        (&dark, Token::Success, (104, 183, 141)),
        (&dark, Token::Error, (234, 127, 129)),
        (&dark, Token::Warning, (205, 154, 34)),
        (&dark, Token::UserMessageBg, (33, 59, 73)),
        (&dark, Token::CustomMessageBg, (58, 48, 85)),
        (&dark, Token::ToolPendingBg, (52, 56, 58)),
        (&dark, Token::ToolSuccessBg, (37, 65, 49)),
        (&dark, Token::ToolErrorBg, (91, 40, 42)),
        (&dark, Token::Border, (95, 168, 204)),
        (&dark, Token::BorderMuted, (118, 129, 134)),
        (&dark, Token::SyntaxVariable, (93, 179, 186)),
        (&dark, Token::SyntaxString, (222, 141, 90)),
        (&dark, Token::ThinkingMedium, (97, 133, 204)),
        (&dark, Token::BashMode, (94, 178, 134)),
        (&dark, Token::SearchMatchBg, (78, 47, 27)),
        (&dark, Token::ScrollbarTrack, (72, 78, 82)),
        (&dark, Token::ScrollbarThumb, (151, 160, 165)),
        (&light, Token::Muted, (103, 113, 118)),
        (&light, Token::Dim, (135, 144, 149)),
        (&light, Token::ThinkingMedium, (162, 183, 224)),
    ] {
        assert_eq!(theme.bg(token), Color::Rgb(r, g, b), "{} {}", theme.name(), token.name());
    }
}

#[test]
fn fewer_colors_are_the_recorded_ones() {
    for (color, expected) in [
        (Theme::dark().bg(Token::Dim), 102),
        (Theme::dark().bg(Token::Muted), 145),
        (Theme::dark().bg(Token::Border), 74),
        (Theme::dark().bg(Token::Accent), 140),
        (builtin::LOGO_BLUE, 67),
        (builtin::LOGO_RED, 174),
        (builtin::LOGO_YELLOW, 179),
        (Color::Rgb(0, 0, 0), 16),
        (Color::Rgb(255, 255, 255), 231),
        (Color::Rgb(128, 128, 128), 244),
        (Color::Rgb(9, 8, 8), 232),
    ] {
        assert_eq!(color.reduced(ColorDepth::Ansi256), Color::Indexed(expected), "{color:?}");
    }
}

#[test]
fn sixteen_colors_keep_the_hue() {
    let dark = Theme::dark();
    for (token, expected) in [
        (Token::Error, 9),
        (Token::Success, 2),
        (Token::Warning, 11),
        (Token::Accent, 12),
        (Token::SyntaxVariable, 6),
        (Token::Text, 7),
        (Token::Muted, 8),
        (Token::UserMessageBg, 0),
        (Token::ToolSuccessBg, 0),
        (Token::ToolErrorBg, 0),
    ] {
        let reduced = dark.bg(token).reduced(ColorDepth::Ansi16);
        assert_eq!(reduced, Color::Indexed(expected), "{}", token.name());
    }
    for (index, expected) in [(5, 5), (15, 15), (196, 9), (67, 4), (231, 15), (244, 8)] {
        let reduced = Color::Indexed(index).reduced(ColorDepth::Ansi16);
        assert_eq!(reduced, Color::Indexed(expected), "{index}");
    }
}
