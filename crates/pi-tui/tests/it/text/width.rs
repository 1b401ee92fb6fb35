//! Widths of characters, one row per rule.

use pi_tui::{Line, Style, text};

#[test]
fn widths_follow_grapheme_clusters() {
    let cases = [
        ("", 0),
        ("plain", 5),
        ("\u{e9}", 1),
        ("e\u{301}", 1),
        ("\u{301}", 0),
        // East Asian: wide 2, ambiguous 1, half width 1.
        ("漢字", 4),
        ("한국", 4),
        ("\u{1112}\u{1161}\u{11ab}", 2),
        ("ｆ", 2),
        ("ﾊ", 1),
        ("±§…─│→", 6),
        // Emoji.
        ("😀", 2),
        ("👍🏽", 2),
        ("☝🏽", 2),
        ("👩‍💻", 2),
        ("👨‍👩‍👧‍👦", 2),
        ("👨‍💻‍🐱", 2),
        ("❤", 1),
        ("❤\u{fe0f}", 2),
        ("❤\u{fe0f}‍🔥", 2),
        ("❤‍🔥", 2),
        ("⚠\u{fe0f}", 2),
        ("1\u{fe0f}\u{20e3}", 2),
        ("⌚\u{fe0e}", 2),
        ("🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}", 2),
        // Flags, also half of one.
        ("🇩🇪", 2),
        ("🇩", 2),
        ("🇩🇪🇫", 4),
        // Spacing marks count; AM of Thai and Lao adds one.
        ("का", 2),
        ("ก", 1),
        ("กำ", 2),
        ("ກຳ", 2),
        ("นี้", 1),
        // What is never written.
        ("a\u{7}b\u{1b}c\u{9b}d\u{7f}", 4),
        ("\r\n", 1),
        ("a\tb", 5),
        ("\u{202e}abc\u{2069}", 3),
        ("co\u{ad}op", 4),
        ("a\u{200b}b", 2),
    ];
    for (text, width) in cases {
        assert_eq!(text::width(text), width, "{text:?} {}", text.escape_unicode());
    }
}

#[test]
fn halves_of_a_character_that_arrive_one_by_one_are_measured_together() {
    for pieces in [
        &["🇩", "🇪", "!"][..],
        &["👩", "\u{200d}", "💻"],
        &["❤", "\u{fe0f}"],
        &["e", "\u{301}"],
        &["ก", "ำ"],
        &["❤\u{1}", "\u{202a}\u{fe0f}"],
    ] {
        let mut line = Line::new();
        for piece in pieces {
            line.push(*piece, Style::PLAIN);
        }
        assert_eq!(line.width(), text::width(&pieces.concat()), "{pieces:?}");
    }
}

#[test]
fn visible_text_has_nothing_that_steers_or_disguises() {
    let cases = [
        ("plain", "plain"),
        ("naïve 漢", "naïve 漢"),
        ("a\tb\nc\r\nd", "a   b c d"),
        ("\u{1b}]0;title\u{7}x", "]0;titlex"),
        ("\u{9b}2Jx", "2Jx"),
        ("user\u{202e}txt.exe", "usertxt.exe"),
        ("a\u{e0041}\u{e007f}b 🏴\u{e0067}", "ab 🏴"),
        ("👩\u{200d}👧 ❤\u{fe0f}", "👩\u{200d}👧 ❤\u{fe0f}"),
        ("a\u{2066}b\u{2069}c\u{2028}d", "abc d"),
        ("\u{200e}שלום\u{200b}", "שלום"),
    ];
    for (text, shown) in cases {
        assert_eq!(text::visible(text), shown, "{text:?}");
    }
}
