//! Themes: what users write into files and settings, and what terminals report.

mod files;
mod system;

use pi_tui::theme::choice::ThemeChoice;
use pi_tui::theme::{Appearance, TerminalColors};
use pi_tui::{ColorDepth, Style, Theme, Token};

#[test]
fn the_setting_names_one_theme_or_two() {
    for (setting, light, dark, follows, written) in [
        ("system", "system", "system", true, "system"),
        ("", "system", "system", true, "system"),
        ("dark", "dark", "dark", false, "dark"),
        ("my-theme", "my-theme", "my-theme", false, "my-theme"),
        ("light/dark", "light", "dark", true, "light/dark"),
        ("paper/system", "paper", "system", true, "paper/system"),
        ("/night", "system", "night", true, "system/night"),
    ] {
        let choice = ThemeChoice::from_setting(setting);
        assert_eq!(choice.name(Appearance::Light), light, "{setting}");
        assert_eq!(choice.name(Appearance::Dark), dark, "{setting}");
        assert_eq!(choice.follows_terminal(), follows, "{setting}");
        assert_eq!(choice.to_string(), written);
    }
    assert_eq!(ThemeChoice::default(), ThemeChoice::from_setting("system"));
}

#[test]
fn builtin_themes_are_found_by_name() {
    let colors = TerminalColors::default();
    for name in pi_tui::theme::choice::BUILTIN {
        let theme = Theme::builtin(name, &colors, ColorDepth::True).expect(name);
        assert_eq!(theme.name(), name);
    }
    assert!(Theme::builtin("my-theme", &colors, ColorDepth::True).is_none());
}

#[test]
fn every_created_theme_has_its_own_generation() {
    let themes = [Theme::dark(), Theme::dark(), Theme::light(), Theme::plain(), Theme::plain()];
    let mut generations: Vec<u64> = themes.iter().map(Theme::generation).collect();
    generations.sort_unstable();
    generations.dedup();
    assert_eq!(generations.len(), themes.len());
    assert_eq!(themes[0].clone().generation(), themes[0].generation());
}

#[test]
fn the_plain_theme_has_no_colors() {
    let theme = Theme::plain();
    assert!(Token::ALL.iter().all(|token| theme.fg(*token) == Style::PLAIN));
}

#[test]
fn extensions_get_escape_sequences_for_every_token() {
    let dark = Theme::dark();
    let unknown = Theme::system(&TerminalColors::default(), ColorDepth::Ansi256);
    let cases = [
        (dark.foreground_sequences(ColorDepth::True), "accent", "\x1b[38;2;167;152;215m"),
        (dark.background_sequences(ColorDepth::True), "userMessageBg", "\x1b[48;2;33;59;73m"),
        (dark.foreground_sequences(ColorDepth::Ansi256), "accent", "\x1b[38;5;140m"),
        (dark.foreground_sequences(ColorDepth::Ansi16), "error", "\x1b[38;5;9m"),
        (unknown.foreground_sequences(ColorDepth::Ansi256), "text", "\x1b[39m"),
        (unknown.foreground_sequences(ColorDepth::Ansi256), "muted", "\x1b[39m\x1b[2m"),
        (unknown.background_sequences(ColorDepth::Ansi256), "toolErrorBg", "\x1b[49m"),
    ];
    for (sequences, token, expected) in cases {
        assert_eq!(sequences.len(), Token::COUNT);
        assert_eq!(sequences[token], expected, "{token}");
    }
}
