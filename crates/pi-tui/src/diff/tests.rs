//! Tests of diffs.

use super::diff_lines;
use crate::component::View;
use crate::style::Attributes;
use crate::text::{Line, LineEnd};
use crate::theme::{Theme, Token};

/// Returns the text of lines, with inverse parts in brackets.
fn marked(lines: &[Line]) -> Vec<String> {
    let span = |span: &crate::Span| match span.style.attributes.contains(Attributes::INVERSE) {
        true => format!("[{}]", span.text),
        false => span.text.clone(),
    };
    lines.iter().map(|line| line.spans().iter().map(span).collect()).collect()
}

fn lines(diff: &str, width: usize) -> Vec<Line> {
    diff_lines(diff, View { width, rows: 24, theme: &Theme::dark() })
}

#[test]
fn words_of_a_replaced_line_are_inverse() {
    let cases: &[(&str, &[&str])] = &[
        (
            " 4     # adds\n-5     return a + b\n+5     return a + b + 0\n 6 ",
            &[" 4     # adds", "-5     return a + b", "+5     return a + b [+ 0]", " 6 "],
        ),
        ("-1 one two three\n+1 one 2 three", &["-1 one [two] three", "+1 one [2] three"]),
        ("-1 a b c\n+1 x y c", &["-1 [a b] c", "+1 [x y] c"]),
        // Nothing in common: the whole line would be inverse, which says nothing.
        ("-1 alpha\n+1 beta", &["-1 alpha", "+1 beta"]),
        // Two lines for two: no words.
        (
            "-4     # adds\n-5     return a + b\n+5     total = a + b\n+6     return total",
            &[
                "-4     # adds",
                "-5     return a + b",
                "+5     total = a + b",
                "+6     return total",
            ],
        ),
        ("+2 import sys\n  ...\n-9 gone", &["+2 import sys", "  ...", "-9 gone"]),
        ("-1 日本 語\n+1 日本 国", &["-1 日本 [語]", "+1 日本 [国]"]),
        ("no diff at all\n-", &["no diff at all", "-"]),
    ];
    for (diff, expected) in cases {
        assert_eq!(marked(&lines(diff, 60)), *expected, "{diff}");
    }
}

#[test]
fn rows_have_the_colors_of_the_theme_and_numbers_are_not_copied() {
    let theme = Theme::dark();
    let lines = lines(" 1 same\n-2 old\n+3 new", 40);
    let tokens = [Token::ToolDiffContext, Token::ToolDiffRemoved, Token::ToolDiffAdded];
    for (line, token) in lines.iter().zip(tokens) {
        assert!(line.spans().iter().all(|span| span.style == theme.fg(token)), "{line:?}");
        let copied: String =
            line.spans().iter().filter(|span| !span.is_layout).map(|span| &*span.text).collect();
        assert!(["same", "old", "new"].contains(&copied.as_str()), "{copied}");
    }
}

#[test]
fn long_rows_are_wrapped_below_their_text() {
    let lines = lines("+12 several words that do not fit\ttab", 16);
    assert_eq!(marked(&lines), ["+12 several", "    words that", "    do not fit", "    tab"]);
    assert_eq!(lines[0].end, LineEnd::Space);
    for width in 1..20 {
        assert!(self::lines("-1 日本語\n+1 日本", width).iter().all(|line| line.width() <= width));
    }
}
