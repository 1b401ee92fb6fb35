//! The theme that is made from the terminal's colors.

use pi_tui::style::Rgb;
use pi_tui::theme::{Appearance, TerminalColors};
use pi_tui::{Attributes, Color, ColorDepth, Style, Theme, Token};
use proptest::prelude::*;

const PANELS: [Token; 6] = [
    Token::SelectedBg,
    Token::UserMessageBg,
    Token::CustomMessageBg,
    Token::ToolPendingBg,
    Token::ToolSuccessBg,
    Token::ToolErrorBg,
];

/// Tokens that are no text: panels, lines, scroll bars.
const NOT_TEXT: [Token; 8] = [
    Token::SearchMatchBg,
    Token::Border,
    Token::BorderAccent,
    Token::BorderMuted,
    Token::MdQuoteBorder,
    Token::MdHr,
    Token::ScrollbarTrack,
    Token::ScrollbarThumb,
];

fn texts() -> impl Iterator<Item = Token> {
    let is_text = |token: &Token| {
        !PANELS.contains(token) && !NOT_TEXT.contains(token) && *token != Token::SearchMatchText
    };
    Token::ALL.iter().copied().filter(is_text)
}

#[test]
fn without_reports_the_colors_are_the_recorded_palette_entries() {
    let theme = Theme::system(&TerminalColors::default(), ColorDepth::True);
    let slot = |index| Style::fg(Color::Indexed(index));
    let faint = Style::PLAIN.with(Attributes::FAINT);
    for (token, expected) in [
        (Token::Text, Style::PLAIN),
        (Token::UserMessageText, Style::PLAIN),
        (Token::ToolTitle, Style::PLAIN),
        (Token::Muted, faint),
        (Token::Dim, faint),
        (Token::ToolOutput, faint),
        (Token::ThinkingText, faint),
        (Token::CustomMessageText, faint),
        (Token::MdCodeBlockBorder, faint),
        (Token::SyntaxComment, faint),
        (Token::Accent, slot(5)),
        (Token::BorderAccent, slot(5)),
        (Token::CustomMessageLabel, slot(5)),
        (Token::SyntaxNumber, slot(5)),
        (Token::SyntaxType, slot(5)),
        (Token::Border, slot(4)),
        (Token::SyntaxKeyword, slot(4)),
        (Token::Success, slot(2)),
        (Token::SyntaxString, slot(2)),
        (Token::MdCodeBlock, slot(2)),
        (Token::BashMode, slot(2)),
        (Token::Error, slot(1)),
        (Token::ToolDiffRemoved, slot(1)),
        (Token::Warning, slot(3)),
        (Token::MdHeading, slot(3)),
        (Token::SyntaxFunction, slot(3)),
        (Token::SyntaxVariable, slot(6)),
        (Token::ThinkingMinimal, slot(4)),
        (Token::ThinkingMedium, slot(6)),
        (Token::ThinkingHigh, slot(5)),
        (Token::ThinkingXhigh, slot(13)),
        (Token::ThinkingMax, slot(1)),
    ] {
        assert_eq!(theme.fg(token), expected, "{}", token.name());
    }
    for panel in PANELS {
        assert_eq!(theme.bg(panel), Color::Default, "{}", panel.name());
    }
}

#[test]
fn the_appearance_follows_the_best_evidence() {
    let (black, white, gray) = (Rgb(0, 0, 0), Rgb(255, 255, 255), Rgb(128, 128, 128));
    let (light, dark) = (Some(Appearance::Light), Some(Appearance::Dark));
    for (background, foreground, scheme, colorfgbg, expected) in [
        (None, None, None, None, dark),
        (Some(white), None, None, None, light),
        (Some(black), None, light, Some("0;15"), dark),
        (Some(gray), Some(white), None, None, dark),
        (Some(gray), Some(black), dark, None, light),
        (None, Some(white), light, Some("15;0"), light),
        (None, None, dark, Some("0;15"), dark),
        (None, None, None, Some("0;15"), light),
        (None, None, None, Some("0;default;15"), light),
        (None, None, None, Some("0;7"), light),
        (None, None, None, Some("15;0"), dark),
        (None, None, None, Some("7;8"), dark),
        (None, None, None, Some("0;default"), dark),
        (None, None, None, Some(""), dark),
        (None, None, None, Some("0;99999"), dark),
    ] {
        let colors = TerminalColors {
            background,
            foreground,
            scheme,
            colorfgbg: colorfgbg.map(str::to_owned),
            ..TerminalColors::default()
        };
        assert_eq!(Some(colors.appearance()), expected, "{colors:?}");
        assert_eq!(Some(Theme::system(&colors, ColorDepth::True).appearance()), expected);
    }
}

#[test]
fn hues_come_from_the_palette() {
    let mut colors =
        TerminalColors { background: Some(Rgb(20, 20, 20)), ..TerminalColors::default() };
    let own = Theme::system(&colors, ColorDepth::True);
    assert!(matches!(own.bg(Token::Accent), Color::Rgb(r, g, b) if b > r && r > g));
    colors.palette[5] = Some(Rgb(230, 120, 20));
    let orange = Theme::system(&colors, ColorDepth::True);
    assert!(matches!(orange.bg(Token::Accent), Color::Rgb(r, g, b) if r > g && g > b));
    assert_eq!(orange.bg(Token::Success), own.bg(Token::Success));
    colors.palette[5] = Some(Rgb(130, 130, 130));
    let gray = Theme::system(&colors, ColorDepth::True);
    assert!(
        matches!(gray.bg(Token::Accent), Color::Rgb(r, g, b) if r.max(g).max(b) - r.min(g).min(b) < 24)
    );
}

#[test]
fn panels_differ_from_usual_backgrounds() {
    for background in
        [Rgb(0, 0, 0), Rgb(30, 30, 30), Rgb(0, 43, 54), Rgb(253, 246, 227), Rgb(255, 255, 255)]
    {
        let colors = TerminalColors { background: Some(background), ..TerminalColors::default() };
        let theme = Theme::system(&colors, ColorDepth::True);
        for panel in PANELS {
            assert_ne!(theme.bg(panel), background.into(), "{} {background:?}", panel.name());
        }
    }
}

#[test]
fn sixteen_colors_need_no_rgb() {
    let colors = TerminalColors { background: Some(Rgb(0, 0, 0)), ..TerminalColors::default() };
    let theme = Theme::system(&colors, ColorDepth::Ansi16);
    assert_eq!(theme.fg(Token::Accent), Style::fg(Color::Indexed(5)));
}

/// Returns what a terminal shows for a color, given its own color for this purpose.
fn shown(color: Color, depth: ColorDepth, own: Option<Rgb>) -> Rgb {
    match color.reduced(depth) {
        Color::Default => own.expect("only known colors are left to the terminal"),
        Color::Rgb(r, g, b) => Rgb(r, g, b),
        Color::Indexed(index @ 232..) => {
            let gray = 8 + 10 * (index - 232);
            Rgb(gray, gray, gray)
        }
        Color::Indexed(index) => {
            let index = index.checked_sub(16).expect("the palette is not used");
            let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
            Rgb(level(index / 36), level(index / 6 % 6), level(index % 6))
        }
    }
}

fn rgb() -> impl Strategy<Value = Rgb> {
    (any::<u8>(), any::<u8>(), any::<u8>()).prop_map(|(r, g, b)| Rgb(r, g, b))
}

/// Backgrounds near the gray on which black and white text have the same contrast are the
/// difficult ones, and random bytes hardly ever hit them.
fn background() -> impl Strategy<Value = Rgb> {
    prop_oneof![rgb(), (105u8..130).prop_map(|gray| Rgb(gray, gray, gray))]
}

proptest! {
    #[test]
    fn text_is_readable_on_every_surface(
        background in background(),
        foreground in proptest::option::of(rgb()),
        palette in proptest::array::uniform16(proptest::option::of(rgb())),
        depth in prop_oneof![Just(ColorDepth::True), Just(ColorDepth::Ansi256)],
    ) {
        let colors = TerminalColors {
            background: Some(background),
            foreground,
            palette,
            ..TerminalColors::default()
        };
        let theme = Theme::system(&colors, depth);
        let color = |token| shown(theme.bg(token), depth, foreground);
        let panel = |token| shown(theme.bg(token), depth, Some(background));
        let surfaces = PANELS.iter().map(|token| (token.name(), panel(*token)));
        for (name, surface) in surfaces.chain([("background", background)]) {
            for token in texts() {
                let contrast = surface.contrast(color(token));
                prop_assert!(contrast >= 4.5, "{} on {name}: {contrast}", token.name());
            }
        }
        let contrast = color(Token::SearchMatchText).contrast(panel(Token::SearchMatchBg));
        prop_assert!(contrast >= 4.5, "found text: {contrast}");
    }
}
