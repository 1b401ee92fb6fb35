//! Text with escape sequences.

use pi_tui::{Attributes, Color, Line, Span, Style, text};

fn spans(text: &str) -> Vec<Span> {
    text::from_ansi(text).iter().flat_map(|line| line.spans().to_vec()).collect()
}

#[test]
fn styles_are_read_in_all_forms() {
    let plain = Style::PLAIN;
    let cases = [
        ("31", Style::fg(Color::Indexed(1))),
        ("97", Style::fg(Color::Indexed(15))),
        ("44", Style::bg(Color::Indexed(4))),
        ("101", Style::bg(Color::Indexed(9))),
        ("38;5;200", Style::fg(Color::Indexed(200))),
        ("38:5:200", Style::fg(Color::Indexed(200))),
        ("48;2;1;2;3", Style::bg(Color::Rgb(1, 2, 3))),
        ("38:2:1:2:3", Style::fg(Color::Rgb(1, 2, 3))),
        ("38:2::1:2:3", Style::fg(Color::Rgb(1, 2, 3))),
        ("1;2;3", plain.with(Attributes::BOLD | Attributes::FAINT | Attributes::ITALIC)),
        ("1;31;22", Style::fg(Color::Indexed(1))),
        ("4:3", plain.underline()),
        ("4;4:0", plain),
        ("7;9", plain.with(Attributes::INVERSE | Attributes::STRIKE)),
        ("31;41;39;49", plain),
        ("31;;1", plain.bold()),
        ("31;0", plain),
        ("", plain),
        ("58;2;9;9;9;1", plain.bold()),
        ("58:5:1;1", plain.bold()),
        ("38;5;300;1", plain.bold()),
        ("38;9;1", plain.bold()),
        ("38", plain),
        ("99999999999999;1", plain.bold()),
        ("8", plain),
        (">4;2", plain),
        ("?1", plain),
        ("1 ", plain),
    ];
    for (parameters, style) in cases {
        let read = spans(&format!("\u{1b}[{parameters}mx"));
        assert_eq!(read, [Span::new("x", style)], "{parameters:?}");
    }
    assert_eq!(spans("\u{9b}31mx"), [Span::new("x", Style::fg(Color::Indexed(1)))]);
}

#[test]
fn styles_and_links_reach_over_lines() {
    let red = Style::fg(Color::Indexed(1));
    let lines = text::from_ansi("a\u{1b}[31mb\nc\u{1b}[0md");
    let expected = [
        Line::from_spans([Span::new("a", Style::PLAIN), Span::new("b", red)]),
        Line::from_spans([Span::new("c", red), Span::new("d", Style::PLAIN)]),
    ];
    assert_eq!(lines, expected);

    let link = "\u{1b}]8;id=1;https://example.org/?a;b\u{1b}\\text\u{1b}]8;;\u{7} after";
    let expected = [
        Span::new("text", Style::PLAIN).link("https://example.org/?a;b"),
        Span::new(" after", Style::PLAIN),
    ];
    assert_eq!(spans(link), expected);
    assert_eq!(spans("\u{1b}]8;;a\nb\u{7}x"), [Span::new("x", Style::PLAIN)]);
}

#[test]
fn everything_else_is_dropped() {
    let cases = [
        ("\u{1b}[2J\u{1b}[H\u{1b}[?25lx", "x"),
        ("\u{1b}[1;5Hx\u{1b}[0 qy", "xy"),
        ("\u{1b}]0;title\u{7}x\u{1b}]52;c;AAAA\u{1b}\\y\u{9d}1\u{9c}z", "xyz"),
        ("\u{1b}Pq#0\n-\u{1b}\\x\u{1b}_Gf=100;AA\u{1b}\\y\u{1b}^p\u{1b}\\\u{1b}Xs\u{1b}\\z", "xyz"),
        ("\u{1b}(Bx\u{1b}7y\u{1b}=z\u{1b}cw", "xyzw"),
        ("10%\r20%\r\n", "10%20%\n"),
        ("a\u{8}b\u{7}c\0d\u{7f}e\u{85}f", "abcdef"),
        ("a\tb", "a   b"),
        ("\u{202e}evil\u{2066}", "evil"),
        // Incomplete sequences, at the end and in the middle.
        ("x\u{1b}", "x"),
        ("x\u{1b}[", "x"),
        ("x\u{1b}[31", "x"),
        ("x\u{1b}[31\ny", "x\ny"),
        ("x\u{1b}[3漢", "x漢"),
        ("x\u{1b}]0;never ends", "x"),
        ("x\u{1b}]0;never ends\nshown", "x\nshown"),
        ("x\u{1b}Pcut\u{1b}[31my", "xy"),
        ("\u{1b}\u{1b}[31mx", "x"),
        ("\u{1b}漢", "漢"),
    ];
    for (text, expected) in cases {
        assert_eq!(text::plain(text), expected, "{text:?}");
        let lines: Vec<String> = text::from_ansi(text).iter().map(Line::text).collect();
        assert_eq!(lines.join("\n"), expected.trim_end_matches('\n'), "{text:?}");
    }
}

#[test]
fn lines_are_those_of_the_text() {
    for (text, count) in [("", 0), ("a", 1), ("a\n", 1), ("\n", 1), ("a\n\nb", 3)] {
        assert_eq!(text::from_ansi(text).len(), count, "{text:?}");
    }
}

#[test]
fn hostile_text_takes_linear_time() {
    // Without a limit, each of these takes minutes if a scan starts over at each introducer.
    for piece in ["\u{1b}]8;;", "\u{1b}P", "\u{9d}\n", "\u{1b}[1;", "\u{1b}[31m🇩\u{1b}[31m"] {
        let text = piece.repeat(50_000);
        let lines = text::from_ansi(&text);
        assert!(lines.len() <= 50_000);
    }
}
