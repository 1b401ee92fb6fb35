//! Wrapping and cutting of lines.

use std::rc::Rc;

use pi_tui::{Color, Line, LineEnd, Span, Style, text};

/// Shows parts as text, with `_` for a break at a space and `-` for one within a word.
fn shown(parts: &[Line]) -> Vec<String> {
    let mark = |end| match end {
        LineEnd::Hard => "",
        LineEnd::Space => "_",
        LineEnd::Joined => "-",
    };
    parts.iter().map(|part| format!("{}{}", part.text(), mark(part.end))).collect()
}

#[test]
fn lines_break_at_spaces_at_cjk_characters_and_within_long_words() {
    let cases: &[(&str, usize, &[&str])] = &[
        ("", 10, &[""]),
        ("short", 10, &["short"]),
        ("hello world", 11, &["hello world"]),
        ("hello world", 10, &["hello_", "world"]),
        ("hello world", 5, &["hello_", "world"]),
        ("a b c d", 3, &["a b_", "c d"]),
        ("a    b", 3, &["a_", "b"]),
        ("a b    ", 3, &["a b"]),
        ("    ", 2, &["  "]),
        ("  indented text", 10, &["  indented_", "text"]),
        ("      deep", 4, &["    -", "deep"]),
        ("abcdefgh", 3, &["abc-", "def-", "gh"]),
        ("ab cdefgh", 4, &["ab_", "cdef-", "gh"]),
        ("漢字漢字", 5, &["漢字-", "漢字"]),
        ("see漢字here", 6, &["see漢-", "字here"]),
        ("word漢字", 4, &["word-", "漢字"]),
        ("漢word", 4, &["漢-", "word"]),
        ("一二。三", 4, &["一-", "二。-", "三"]),
        ("一「二", 4, &["一-", "「二"]),
        ("a漢", 1, &["a-", "\u{fffd}"]),
        ("👩‍💻👩‍💻", 3, &["👩‍💻-", "👩‍💻"]),
        ("e\u{301}e\u{301}e\u{301}", 2, &["e\u{301}e\u{301}-", "e\u{301}"]),
        ("abc", 0, &[""]),
        ("abc  \u{301} d", 4, &["abc_", "\u{20}\u{301} d"]),
        ("non\u{a0}breaking space", 13, &["non\u{a0}breaking_", "space"]),
    ];
    for (line, width, parts) in cases {
        assert_eq!(shown(&text::wrap(&Line::plain(*line), *width)), *parts, "{line:?} in {width}");
    }
}

#[test]
fn parts_keep_styles_links_marks_and_the_caret() {
    let red = Style::fg(Color::Indexed(1));
    let link: Rc<str> = "https://example.org".into();
    let mut line = Line::from_spans([
        Span::layout("> ", Style::PLAIN),
        Span::new("one ", red),
        Span::new("two three", Style::PLAIN).link(Rc::clone(&link)),
    ]);
    line.is_prompt = true;
    line.end = LineEnd::Joined;
    line.caret = Some(11);

    let parts = text::wrap(&line, 7);
    assert_eq!(shown(&parts), ["> one_", "two_", "three-"]);
    assert_eq!(parts[0].spans(), [Span::layout("> ", Style::PLAIN), Span::new("one", red)]);
    assert_eq!(parts[1].spans(), [Span::new("two", Style::PLAIN).link(Rc::clone(&link))]);
    assert_eq!(parts.iter().map(|part| part.is_prompt).collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(parts.iter().map(|part| part.caret).collect::<Vec<_>>(), [None, None, Some(1)]);
}

#[test]
fn the_caret_is_in_one_part_at_every_column() {
    let text = "ab  cd漢 efghij";
    for caret in 0..=text::width(text) {
        for width in 0..8 {
            let mut line = Line::plain(text);
            line.caret = Some(caret);
            let parts = text::wrap(&line, width);
            let carets: Vec<_> = parts.iter().filter(|part| part.caret.is_some()).collect();
            assert_eq!(carets.len(), 1, "caret {caret} in {width} columns");
            assert!(carets[0].caret <= Some(carets[0].width()));
        }
    }
    let mut line = Line::plain("abc def");
    line.caret = Some(3);
    let carets: Vec<_> = text::wrap(&line, 3).iter().map(|part| part.caret).collect();
    assert_eq!(carets, [Some(3), None], "the caret on a dropped space stays before it");
    line.caret = Some(7);
    let carets: Vec<_> = text::wrap(&line, 3).iter().map(|part| part.caret).collect();
    assert_eq!(carets, [None, Some(3)]);
}

#[test]
fn indented_parts_have_prefixes_that_are_not_copied() {
    let bullet = Line::plain("- ");
    let indent = Line::plain("    ");
    let parts = text::wrap_indented(&Line::plain("one two three"), 9, &bullet, &indent);
    assert_eq!(shown(&parts), ["- one two_", "    three"]);
    assert_eq!(parts[1].spans()[0], Span::layout("    ", Style::PLAIN));

    // A word that fits the first part but not the others.
    let parts = text::wrap_indented(&Line::plain("a bcdefg"), 8, &Line::new(), &indent);
    assert_eq!(shown(&parts), ["a bcdefg"]);
    let parts = text::wrap_indented(&Line::plain("a bcdefgh"), 8, &Line::new(), &indent);
    assert_eq!(shown(&parts), ["a_", "    bcde-", "    fgh"]);

    for width in 0..4 {
        let mut line = Line::plain("ab漢");
        line.caret = Some(1);
        for part in text::wrap_indented(&line, width, &indent, &indent) {
            assert!(part.width() <= width, "{part:?} in {width} columns");
        }
    }
}

#[test]
fn truncated_lines_end_with_the_ellipsis() {
    let cases = [
        ("short", 5, "…", "short"),
        ("longer", 5, "…", "long…"),
        ("longer", 5, "...", "lo..."),
        ("longer", 2, "...", ".."),
        ("longer", 0, "…", ""),
        ("longer", 3, "", "lon"),
        ("漢字漢字", 4, "…", "漢 …"),
        ("漢字漢字", 5, "…", "漢字…"),
        ("e\u{301}e\u{301}e\u{301}", 2, "…", "e\u{301}…"),
    ];
    for (line, width, ellipsis, expected) in cases {
        let cut = text::truncate(&Line::plain(line), width, ellipsis);
        assert_eq!(cut.text(), expected, "{line:?} in {width}");
    }
    let red = Style::fg(Color::Indexed(1));
    let line = Line::from_spans([Span::new("ab", red), Span::new("cdef", Style::PLAIN)]);
    assert_eq!(text::truncate(&line, 3, "…").spans(), [Span::new("ab…", red)]);
}

#[test]
fn slices_pad_halves_of_wide_characters() {
    let cases = [
        ("abcdef", 1, 3, "bc"),
        ("abcdef", 4, 9, "ef"),
        ("abcdef", 3, 3, ""),
        ("abcdef", 5, 2, ""),
        ("a漢b", 0, 2, "a "),
        ("a漢b", 2, 4, " b"),
        ("a漢b", 1, 3, "漢"),
        ("漢", 1, 1, ""),
        ("e\u{301}x", 0, 1, "e\u{301}"),
        ("e\u{301}x", 1, 2, "x"),
        ("漢\u{200b}x", 1, 3, " x"),
        ("\u{301}", 0, 0, "\u{301}"),
    ];
    for (line, start, end, expected) in cases {
        let part = text::slice(&Line::plain(line), start, end);
        assert_eq!(part.text(), expected, "{line:?} {start}..{end}");
    }
}

#[test]
fn a_rule_is_not_copied() {
    assert_eq!(text::rule(3, Style::PLAIN).spans(), [Span::layout("───", Style::PLAIN)]);
}
