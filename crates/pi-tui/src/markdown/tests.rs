//! Tests of Markdown.

use proptest::prelude::*;

use super::{Highlighting, Markdown, MarkdownOptions};
use crate::component::{Block as _, View};
use crate::style::Style;
use crate::text::{Line, LineEnd, Lines};
use crate::theme::{Theme, Token};

fn options() -> MarkdownOptions {
    MarkdownOptions { highlighting: Highlighting::Blocking, ..MarkdownOptions::default() }
}

fn view(theme: &Theme, width: usize) -> View<'_> {
    View { width, rows: 24, theme }
}

fn render_with(options: MarkdownOptions, text: &str, width: usize) -> Lines {
    let mut markdown = Markdown::new(options);
    markdown.set_text(text);
    markdown.render(view(&Theme::plain(), width))
}

fn plain(lines: &[Line]) -> String {
    lines.iter().map(Line::text).collect::<Vec<_>>().join("\n")
}

fn render(text: &str, width: usize) -> String {
    plain(&render_with(options(), text, width))
}

#[test]
fn inline_text() {
    insta::assert_snapshot!(render(
        "# Heading one\n\n## Heading two\n\n### Heading three\n\n#### Heading four\n\nPlain, **bold**, *italic*, ***both***, `code`, ~~struck~~, a [link](https://example.com/a) and https://example.com/b as it is. Escaped \\*stars\\*.\n\nA line that ends in two spaces  \nbreaks here.\n\n---\n\nAfter the rule.\n",
        78
    ));
}

#[test]
fn lists_and_quotes() {
    insta::assert_snapshot!(render(
        "- first\n- second with a line that is long enough to be wrapped at eighty columns, or at any other width\n  - nested\n    - deeper\n- [x] done\n- [ ] open\n\n1. one\n2. two\n   - mixed\n10. ten\n\n- loose\n\n- list\n\n> A quote with **bold**\n> over two lines.\n>\n> > nested quote\n",
        78
    ));
}

#[test]
fn tables() {
    let table = "| Name | Kind | Meaning |\n|---|:---:|---:|\n| `a` | short | one |\n| beta | a cell whose text is so long that the column has to be wrapped somewhere | **two** |\n| gamma | x | three |\n\nText after.\n";
    insta::assert_snapshot!(render(table, 78));
    insta::assert_snapshot!(render(table, 38));
    insta::assert_snapshot!(render(table, 12));
    insta::assert_snapshot!(render("| 名前 | 値 |\n|---|---|\n| 東京 | 🗼 |\n", 78));
}

#[test]
fn code() {
    insta::assert_snapshot!(render(
        "Python:\n\n```python\n# comment\ndef add(a: int, b: int = 2) -> int:\n    return a + b * 3.5\n```\n\nNo language:\n\n```\nplain text\n  kept as it is\n\nend\n```\nText\n\n- item\n  ```sh\n  ls\n  ```\n",
        78
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_portions_of_a_text_do_not_matter(text in markdown_text(), cuts in cuts()) {
        let theme = Theme::plain();
        let whole = render_with(options(), &text, 40);
        let mut grown = Markdown::new(options());
        let mut taken = Markdown::new(options());
        let mut blocks = Vec::new();
        let mut at = 0;
        for cut in cuts {
            let end = text.floor_char_boundary((at + cut).min(text.len()));
            grown.push(&text[at..end]);
            taken.push(&text[at..end]);
            at = end;
            grown.render(view(&theme, 40));
            blocks.extend(taken.take_finished());
        }
        grown.push(&text[at..]);
        prop_assert_eq!(plain(&grown.render(view(&theme, 40))), plain(&whole));
        prop_assert_eq!(grown.render(view(&theme, 40)), whole);

        taken.push(&text[at..]);
        grown.finish();
        taken.finish();
        blocks.extend(taken.take_finished());
        prop_assert_eq!(taken.render(view(&theme, 40)).len(), 0);
        let lines: Vec<Line> =
            blocks.iter_mut().flat_map(|block| block.render(view(&theme, 40)).to_vec()).collect();
        // A block that was taken does not learn of definitions that come later.
        prop_assume!(!text.contains("]:"));
        prop_assert_eq!(plain(&lines), plain(&grown.render(view(&theme, 40))));
    }

    #[test]
    fn no_line_is_too_wide(text in markdown_text(), width in 1_usize..200) {
        let lines = render_with(MarkdownOptions { padding: 1, ..options() }, &text, width);
        for line in lines.iter() {
            prop_assert!(line.width() <= width, "{:?} in {width}", line.text());
        }
    }
}

fn cuts() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1_usize..40, 0..40)
}

/// Text of fragments that mean something in Markdown.
fn markdown_text() -> impl Strategy<Value = String> {
    let fragment = prop_oneof![
        Just("\n"),
        Just("\n\n"),
        Just("- "),
        Just("  - "),
        Just("1. "),
        Just("> "),
        Just("```"),
        Just("```rust\n"),
        Just("~~~"),
        Just("# "),
        Just("---"),
        Just("***"),
        Just("| a | b |\n"),
        Just("|---|:-:|\n"),
        Just("word "),
        Just("longer words here "),
        Just("*"),
        Just("**"),
        Just("`"),
        Just("$"),
        Just("$$"),
        Just("\\("),
        Just("\\)"),
        Just("\\["),
        Just("\\]"),
        Just("[a](b)"),
        Just("[a]"),
        Just("[a]: http://b.c\n"),
        Just("https://x.y/z "),
        Just("    "),
        Just("\t"),
        Just("<div>"),
        Just("<!-- "),
        Just("-->"),
        Just("日本"),
        Just("👩‍👩‍👧‍👦"),
        Just("\\frac{1}{2}"),
        Just("x_1^2"),
        Just("```mermaid\ngraph LR\nA-->B\n"),
        Just("&amp;"),
        Just("~~"),
        Just("~"),
        Just("\r\n"),
        Just("[x] "),
        Just("="),
        Just("===\n"),
        Just("\u{1b}[31m"),
        Just("|"),
    ];
    prop::collection::vec(fragment, 0..60).prop_map(|parts| parts.concat())
}

#[test]
fn formulas() {
    insta::assert_snapshot!(render(
        "Inline $E = mc^2$ and $\\alpha_1 + \\sqrt{x}$ and \\(\\frac{a}{b}\\). It costs $5 and $6.\n\n$$\\int_0^1 x^2 \\, dx = \\frac{1}{3}$$\n\n\\[ \\sum_{i=1}^{n} i = \\frac{n(n+1)}{2} \\]\n\n$$\na\n= b\n$$\n\nText\n$$\\frac12$$\nmore *$a*b$* and `$x$` and [$x$](y).\n\n- item\n  $$\n  \\frac{a}{b}\n  $$\n- \\[x\n\n> \\[\n> \\frac{a}{b}\n> \\]\n\n$$\\unknown x$$\n\n$$a b",
        78
    ));
    // Too wide: the source.
    insta::assert_snapshot!(render("$$\\frac{abcdef}{b} = cdefgh$$", 12));
}

#[test]
fn diagrams() {
    let source = "```mermaid\ngraph LR\n  A[Start] --> B{Choice}\n  B -->|yes| C[Do it]\n  B -->|no| D[Stop]\n```\n\nDone.\n";
    insta::assert_snapshot!(render(source, 78));
    // Too narrow, not supported, or not complete: the source.
    insta::assert_snapshot!(render(source, 30));
    assert!(render("```mermaid\npie\n```", 78).starts_with("```mermaid\n  pie"));
    let open = "```mermaid\ngraph LR\nA --> B\n";
    assert!(render(open, 78).starts_with("```mermaid"));
    let streaming = MarkdownOptions { mermaid: super::Mermaid::Streaming, ..options() };
    assert!(plain(&render_with(streaming, open, 78)).starts_with('┌'));
    let off = MarkdownOptions { mermaid: super::Mermaid::Off, ..options() };
    assert!(plain(&render_with(off, source, 78)).starts_with("```mermaid"));
}

#[test]
fn hostile_texts_take_linear_time() {
    let texts = [
        "`".repeat(100_000),
        "` `` ".repeat(20_000),
        ">".repeat(100_000),
        "> ".repeat(50_000) + "x",
        "- ".repeat(50_000),
        "[".repeat(100_000),
        "![".repeat(50_000),
        "[a](".repeat(25_000),
        "*a _b ".repeat(20_000),
        "**a*".repeat(25_000),
        "$a$$b ".repeat(20_000),
        "\\[a \\(b ".repeat(15_000),
        "<a ".repeat(40_000),
        "<!-- ".repeat(20_000),
        "&".repeat(100_000),
        "~~a~".repeat(25_000),
        "|".repeat(100_000) + "\n" + &"|-".repeat(50_000),
        "a|b\n-|-\n".to_owned() + &"x|y\n".repeat(20_000),
        "1. ".repeat(40_000),
        "http://".repeat(15_000),
        "[a]: b\n".repeat(15_000),
        "\n".repeat(200_000),
        "```\n".to_owned() + &"x\n".repeat(50_000),
        "x".repeat(300_000),
        "日".repeat(100_000),
        "    x\n".repeat(20_000),
    ];
    for text in texts {
        let off = MarkdownOptions { highlighting: Highlighting::Off, ..options() };
        let lines = render_with(off, &text, 80);
        let head: String = text.chars().take(12).collect();
        // Quadratic work on any of these would take minutes.
        assert!(lines.iter().all(|line| line.width() <= 80), "{head:?}");
    }
}

#[test]
fn styles_follow_the_theme() {
    let theme = Theme::dark();
    let thinking = MarkdownOptions {
        color: Some(Token::ThinkingText),
        base: Style::PLAIN.italic(),
        ..options()
    };
    let cases = [
        (options(), "# One", "One", theme.fg(Token::MdHeading).bold().underline()),
        (options(), "### Three", "### Three", theme.fg(Token::MdHeading).bold()),
        (options(), "a `code`", "code", theme.fg(Token::MdCode)),
        (options(), "[a](b)", "a", theme.fg(Token::MdLink).underline()),
        (options(), "- a", "- ", theme.fg(Token::MdListBullet)),
        (options(), "> a", "a", theme.fg(Token::MdQuote).italic()),
        (options(), "---", &"─".repeat(40), theme.fg(Token::MdHr)),
        (options(), "```\nx\n```", "x", theme.fg(Token::MdCodeBlock)),
        (options(), "```rs\nlet\n```", "let", theme.fg(Token::SyntaxKeyword)),
        (thinking.clone(), "a **b**", "b", theme.fg(Token::ThinkingText).italic().bold()),
        (thinking, "a", "a", theme.fg(Token::ThinkingText).italic()),
    ];
    for (options, text, part, style) in cases {
        let mut markdown = Markdown::new(options);
        markdown.set_text(text);
        let lines = markdown.render(view(&theme, 40));
        let span = lines.iter().flat_map(Line::spans).find(|span| span.text == part);
        assert_eq!(span.map(|span| span.style), Some(style), "{text}: {lines:?}");
    }
}

#[test]
fn links_have_addresses() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("[a](http://b.c)", "a (http://b.c)", &["http://b.c"]),
        ("<http://b.c>", "http://b.c", &["http://b.c"]),
        ("<a@b.c>", "a@b.c", &["mailto:a@b.c"]),
        ("![alt](p.png)", "alt (p.png)", &["p.png"]),
        ("[](http://b.c)", "http://b.c", &["http://b.c"]),
        (
            "see (https://a.b/c_d_e), or www.f.g.",
            "see (https://a.b/c_d_e), or www.f.g.",
            &["https://a.b/c_d_e", "https://www.f.g"],
        ),
        ("`http://b.c`", "http://b.c", &[]),
        (
            "[a][x]\n\n[X]: http://b.c",
            "a (http://b.c)\n\n[X]: http://b.c",
            &["http://b.c", "http://b.c"],
        ),
        ("[a][none]", "[a][none]", &[]),
    ];
    for (text, shown, addresses) in cases {
        let mut markdown = Markdown::new(MarkdownOptions { hyperlinks: false, ..options() });
        markdown.set_text(text);
        markdown.finish();
        let lines = markdown.render(view(&Theme::plain(), 60));
        assert_eq!(plain(&lines), *shown, "{text}");
        let links = lines.iter().flat_map(Line::spans).filter_map(|span| span.link.as_deref());
        assert_eq!(links.collect::<Vec<_>>(), *addresses, "{text}");
    }
    assert_eq!(render("[a](http://b.c)", 60), "a");
}

#[test]
fn small_rules() {
    let cases = [
        ("~~a~~ ~b~ ~~ c ~~", "a ~b~ ~~ c ~~"),
        ("<b>x</b>\n\n<div>\n*a*\n</div>", "<b>x</b>\n\n<div>\n*a*\n</div>"),
        ("3. a\n3. b", "3. a\n4. b"),
        ("- a\n+ b", "- a\n\n- b"),
        ("-\n- b", "-\n- b"),
        ("text\n- a", "text\n\n- a"),
        ("- - a", "-\n    - a"),
        ("a\n\n\n\nb", "a\n\nb"),
        ("a\n===\nb", "a\n\nb"),
        ("&lt;a&gt; \\* `a\\b`", "<a> * a\\b"),
        ("    code\n\n    more", "```\n  code\n\n  more\n```"),
        ("> - a\n>   b", "│ - a\n│   b"),
        ("- > a\n  > b", "- │ a\n  │ b"),
        ("1. a\n\n   ```\n   b\n   ```", "1. a\n\n   ```\n     b\n   ```"),
        ("```\na\n``", "```\n  a\n```"),
        ("```\na\n```", "```\n  a\n```"),
        ("````\na\n```\nb", "````\n  a\n  ```\n  b\n````"),
        ("a\tb", "a   b"),
        ("", ""),
        ("\n \n", ""),
    ];
    for (text, expected) in cases {
        assert_eq!(render(text, 40), expected, "{text:?}");
    }
    let typed = MarkdownOptions { list_numbers_as_typed: true, ..options() };
    let text = "3. a\n   1. b\n   1. c\n1. d";
    assert_eq!(plain(&render_with(typed, text, 40)), "3. a\n    1. b\n    1. c\n1. d");
    // A line that is complete is not hidden any more.
    let mut markdown = Markdown::new(options());
    markdown.set_text("```\na\n``");
    markdown.finish();
    assert_eq!(plain(&markdown.render(view(&Theme::plain(), 40))), "```\n  a\n  ``\n```");
}

/// Returns what a selection of everything copies.
fn copied(lines: &[Line]) -> String {
    let mut text = String::new();
    for line in lines {
        let spans = line.spans().iter().filter(|span| !span.is_layout);
        text.extend(spans.map(|span| span.text.as_str()));
        text.push_str(match line.end {
            LineEnd::Hard => "\n",
            LineEnd::Space => " ",
            LineEnd::Joined => "",
        });
    }
    text
}

#[test]
fn a_copy_has_no_layout() {
    let cases = [
        ("one two three four", "one two three four\n"),
        ("> one two three four\n> five", "one two three four\nfive\n"),
        ("- one two three four\n  - five", "- one two three four\n    - five\n"),
        ("```\n  abc defgh ijklm\n```", "```\n  abc defgh ijklm\n```\n"),
        ("abcdefghijklmnopq", "abcdefghijklmnopq\n"),
        ("|a|b|\n|-|-|\n|c|d|", "a │ b\nc │ d\n"),
    ];
    for (text, expected) in cases {
        let lines = render_with(MarkdownOptions { padding: 1, ..options() }, text, 14);
        assert_eq!(copied(&lines), expected, "{text}");
    }
}

#[test]
fn the_unfinished_end_of_a_long_text_is_short() {
    let theme = Theme::plain();
    let paragraph = "Some *words* in a paragraph with `code`.\n\n";
    let starts =
        [String::new(), paragraph.repeat(2_500), "```\n".to_owned() + &"x = 1\n".repeat(15_000)];
    for start in starts {
        let mut markdown = Markdown::new(options());
        markdown.push(&start);
        markdown.take_finished();
        markdown.push("word ");
        markdown.take_finished();
        // A delta renders no more than this, however long the text is.
        let rendered = markdown.render(view(&theme, 80)).len();
        assert!(rendered <= 70, "{rendered} lines are left");
    }
}

#[test]
fn a_tree_has_blocks_gaps_and_inline_elements() {
    let text = "# A *b*\n\n- x\n- [x] y\n\n  z\n\n> q\n\n|a|b|\n|-|:-:|\n|1|`2`|\n\nc\\*d ~e~ &amp; $x^2$\n";
    let tree = serde_json::to_string_pretty(&super::tree(text, true)).unwrap();
    insta::assert_snapshot!(tree);
}
