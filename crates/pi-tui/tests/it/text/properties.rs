//! Properties of the text functions for any text.

use pi_tui::{Color, Line, LineEnd, Span, Style, text};
use proptest::prelude::*;

/// Characters that behave in different ways, more often than chance has them.
fn piece() -> impl Strategy<Value = String> {
    let special = prop::sample::select(vec![
        " ",
        "  ",
        "a",
        "word",
        "漢",
        "。",
        "「",
        "한",
        "e\u{301}",
        "\u{301}",
        "\u{200d}",
        "👩",
        "👩‍💻",
        "🇩",
        "❤",
        "\u{fe0f}",
        "\u{fe0e}",
        "🏽",
        "ก",
        "ำ",
        "का",
        "\u{200b}",
        "\u{7}",
        "\t",
        "\u{1b}",
        "[",
        "]",
        "31m",
        "8;;",
        "\u{9b}",
        "\u{9c}",
        "\\",
        "\n",
        "\u{202e}",
        "क्ष",
        "\u{ad}",
    ]);
    prop_oneof![8 => special.prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)]
}

fn any_text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..40).prop_map(|pieces| pieces.concat())
}

fn any_line() -> impl Strategy<Value = Line> {
    let span = (any_text(), 0..3u8).prop_map(|(text, color)| match color {
        0 => Span::layout(text, Style::PLAIN),
        color => Span::new(text, Style::fg(Color::Indexed(color))),
    });
    (prop::collection::vec(span, 0..4), prop::option::of(0..80usize)).prop_map(|(spans, caret)| {
        let mut line = Line::from_spans(spans);
        line.caret = caret.map(|caret| caret.min(line.width()));
        line
    })
}

/// Returns the text that can be seen. A selector or joiner that shapes nothing, since it is the first
/// character of a part, is cleaned away.
fn without_spaces(text: &str) -> String {
    text.replace([' ', '\u{fe0e}', '\u{fe0f}', '\u{200d}'], "")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn parts_fit_and_join_to_the_line(line in any_line(), width in 3..30usize) {
        let parts = text::wrap(&line, width);
        let mut joined = String::new();
        for part in &parts {
            prop_assert!(part.width() <= width, "{part:?}");
            joined.push_str(&part.text());
            if part.end == LineEnd::Space {
                joined.push(' ');
            }
        }
        prop_assert_eq!(parts.last().map(|part| part.end), Some(LineEnd::Hard));
        let has_replaced = joined.contains('\u{fffd}');
        prop_assert!(has_replaced || without_spaces(&joined) == without_spaces(&line.text()));
        let words = |text: &str| text.split(' ').filter(|it| !it.is_empty()).count();
        prop_assert!(has_replaced || words(&joined) <= words(&line.text()), "no word is split");
        let carets = parts.iter().filter(|part| part.caret.is_some()).count();
        prop_assert_eq!(carets, usize::from(line.caret.is_some()));
    }

    #[test]
    fn narrow_widths_are_kept(line in any_line(), width in 0..4usize) {
        for part in text::wrap(&line, width) {
            prop_assert!(part.width() <= width, "{part:?}");
        }
        prop_assert!(text::truncate(&line, width, "…").width() <= width);
        for part in text::wrap_indented(&line, width, &Line::plain("- "), &Line::plain("漢")) {
            prop_assert!(part.width() <= width, "{part:?}");
        }
    }

    #[test]
    fn slices_cover_the_line(line in any_line(), a in 0..20usize, b in 0..20usize, c in 0..20usize) {
        let mut columns = [a, b, c];
        columns.sort_unstable();
        let [a, b, c] = columns;
        let end = |column: usize| column.min(line.width());
        let (left, right) = (text::slice(&line, a, b), text::slice(&line, b, c));
        prop_assert_eq!(left.width(), end(b) - end(a));
        prop_assert_eq!(right.width(), end(c) - end(b));
        let whole = text::slice(&line, 0, line.width());
        prop_assert_eq!(&whole, &line);
    }

    #[test]
    fn the_width_of_a_line_is_that_of_its_parts(line in any_line()) {
        let spans: usize = line.spans().iter().map(|span| text::width(&span.text)).sum();
        prop_assert_eq!(line.width(), spans);
        for span in line.spans() {
            let parts = text::graphemes(&span.text).map(text::grapheme_width).sum::<usize>();
            prop_assert_eq!(text::width(&span.text), parts);
            prop_assert_eq!(text::graphemes(&span.text).collect::<String>(), span.text.clone());
        }
    }

    #[test]
    fn no_control_character_is_left(text in any_text()) {
        for line in text::from_ansi(&text) {
            prop_assert!(!line.text().contains(char::is_control), "{line:?}");
        }
        let plain = text::plain(&text);
        prop_assert!(!plain.contains(|it: char| it.is_control() && it != '\n'));
        prop_assert_eq!(text::plain(&plain), plain);
        prop_assert!(!text::visible(&text).contains(char::is_control));
    }
}
