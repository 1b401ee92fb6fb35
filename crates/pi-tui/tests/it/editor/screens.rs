//! The drawn editor beside the recorded screens of pi 1.5.0: layout, counters, caret, menu.

use pi_tui::completion::{Completion, CompletionKind, Completions};
use pi_tui::{
    Attributes, Border, Color, Component as _, EditorEvent, InputLine, Line, LineEnd, Style, Theme,
    View,
};

use super::{Fixed, Harness};

/// Returns a border of 80 columns.
fn rule() -> String {
    "─".repeat(80)
}

#[test]
fn two_lines() {
    let mut harness = Harness::new();
    harness.typed("first line\nsecond line");
    assert_eq!(harness.screen(80, 24), [&rule(), "first line", "second line", &rule()]);
    assert_eq!(harness.caret(80, 24), Some((2, 11)));
}

#[test]
fn wrapped() {
    let mut harness = Harness::new();
    harness.typed(
        "a line that is long enough that the editor has to wrap it at a word boundary \
         somewhere before the edge andaverylongwordwithoutanyspaceatallthatcannotfitinto\
         oneeditorlineofeightycolumnsandhastobebroken",
    );
    assert_eq!(
        harness.screen(80, 24)[1..5],
        [
            "a line that is long enough that the editor has to wrap it at a word boundary",
            "somewhere before the edge",
            "andaverylongwordwithoutanyspaceatallthatcannotfitintooneeditorlineofeightycolum",
            "nsandhastobebroken",
        ]
    );
    assert_eq!(harness.caret(80, 24), Some((4, 18)));
}

#[test]
fn scrolled() {
    let mut harness = Harness::new();
    let text: Vec<String> = (1..=9).map(|number| format!("row {number}")).collect();
    harness.paste(&text.join("\n"));
    let screen = harness.screen(80, 24);
    let above = format!("{0} ↑ 2 more {0}", "─".repeat(35));
    let below = format!("{0} ↓ 2 more {0}", "─".repeat(35));
    assert_eq!(screen.len(), 9);
    assert_eq!(
        [&screen[0], &screen[1], &screen[7], &screen[8]],
        [&above, "row 3", "row 9", &rule()]
    );
    for _ in 0..8 {
        harness.press("up");
    }
    let screen = harness.screen(80, 24);
    assert_eq!(
        [&screen[0], &screen[1], &screen[7], &screen[8]],
        [&rule(), "row 1", "row 7", &below]
    );
    assert_eq!(harness.screen(80, 10).len(), 7, "at least five rows");
    assert_eq!(harness.screen(80, 40).len(), 11, "no empty rows");
    harness.keys("down down down");
    assert_eq!(
        harness.screen(80, 10)[0],
        format!("{0} ↑ 0 more {0}", "─".repeat(35)).replace(" ↑ 0 more ", &"─".repeat(10))
    );
}

#[test]
fn paste_markers() {
    let mut harness = Harness::new();
    let lines: Vec<String> = (1..=11).map(|number| number.to_string()).collect();
    harness.typed("before ").paste(&lines.join("\n")).typed(" mid ").paste(&"x".repeat(1001));
    assert_eq!(harness.screen(80, 24)[1], "before [paste #1 +11 lines] mid [paste #2 1001 chars]");
    assert_eq!(harness.caret(80, 24), Some((1, 53)));
    for width in 1..25 {
        harness.screen(width, 24);
    }
    assert_eq!(harness.screen(24, 24)[1..4], ["before", "[paste #1 +11 lines]", "mid"]);
}

#[test]
fn wide_characters() {
    let mut harness = Harness::new();
    harness.typed("日本語 👩‍👩‍👧‍👦 🇩🇪 e\u{301} ✅ x").keys("left left");
    assert_eq!(harness.caret(80, 24), Some((1, 17)));
    for width in 1..=5 {
        harness.screen(width, 24);
    }
    // Rows of CJK text break anywhere, by columns.
    let mut harness = Harness::new();
    harness.typed("日本語ab 語");
    assert_eq!(harness.screen(6, 24)[1..4], ["日本", "語ab", "語"]);
}

#[test]
fn padding_and_hardware_cursor() {
    let mut harness = Harness::new();
    harness.editor.set_padding(2);
    harness.editor.set_hardware_cursor(true);
    harness.typed("padded");
    assert_eq!(harness.screen(80, 24)[1], "  padded");
    assert_eq!(harness.caret(80, 24), Some((1, 8)));
    assert!(!harness.has_inverse(80));
    // The text has all columns between the paddings, and the caret stands in the right one.
    harness.editor.set_text("abcdef");
    assert_eq!(harness.screen(10, 24)[1], "  abcdef");
    assert_eq!(harness.caret(10, 24), Some((1, 8)));
    harness.editor.set_hardware_cursor(false);
    assert!(harness.has_inverse(80));
    harness.editor.set_focused(false);
    assert_eq!(harness.caret(10, 24), None);
    assert!(!harness.has_inverse(80));
    harness.editor.set_padding(40);
    for width in 1..6 {
        harness.screen(width, 24);
    }
}

#[test]
fn label_in_the_border() {
    let color = Style::fg(Color::Indexed(6));
    let mut label = Line::styled("⠸", color);
    label.push(" ", Style::PLAIN);
    label.push("Working", color);
    let mut harness = Harness::new();
    harness.editor.set_border(Border { style: color, label: Some(label) });
    assert_eq!(harness.screen(30, 24)[0], format!("── ⠸ Working {}", "─".repeat(17)));
    assert_eq!(harness.screen(13, 24)[0], "── ⠸ ────────");
    assert_eq!(harness.screen(14, 24)[0], "── ⠸ Working ─");
    assert_eq!(harness.screen(6, 24)[0], "── ⠸ ─");
    assert_eq!(harness.screen(5, 24)[0], "─────");
    harness.paste(&"a\n".repeat(9));
    let above = format!("── ⠸ Working {} ↑ 3 more {}", "─".repeat(22), "─".repeat(35));
    assert_eq!(harness.screen(80, 24)[0], above);
    let theme = Theme::plain();
    let lines = harness.editor.render(View { width: 80, rows: 24, theme: &theme });
    assert_eq!(lines[0].spans()[0].style, color);
    assert!(lines[0].spans().iter().all(|span| span.is_layout));
}

#[test]
fn rows_know_how_they_are_joined() {
    let mut harness = Harness::new();
    harness.editor.set_text("aa bb cc\ndd");
    let theme = Theme::plain();
    let lines = harness.editor.render(View { width: 7, rows: 24, theme: &theme });
    let ends: Vec<LineEnd> = lines.iter().map(|line| line.end).collect();
    assert_eq!(ends[1..4], [LineEnd::Joined, LineEnd::Hard, LineEnd::Hard]);
}

fn commands() -> Fixed {
    let commands = [
        ("settings", "Change settings"),
        ("model", "<provider/model> — Choose a model"),
        ("tree", "Move in the session tree"),
        ("thinking", "<level> — Set the thinking level"),
        ("scoped-models", "Choose the models that ctrl+p cycles through"),
        ("export", &"a long description ".repeat(5)),
    ];
    Fixed(Completions {
        kind: CompletionKind::Command,
        replaced: 0..1,
        items: commands
            .iter()
            .map(|(name, text)| Completion::new(*name, format!("/{name} ")).described(*text))
            .collect(),
        is_complete: true,
    })
}

#[test]
fn menu_of_commands() {
    let mut harness = Harness::with(commands());
    harness.typed("/");
    assert_eq!(
        harness.screen(80, 24)[3..],
        [
            "→ settings       Change settings",
            "  model          <provider/model> — Choose a model",
            "  tree           Move in the session tree",
            "  thinking       <level> — Set the thinking level",
            "  scoped-models  Choose the models that ctrl+p cycles through",
            "  (1/6)",
        ]
    );
    harness.press("up");
    let screen = harness.screen(80, 24);
    // Two columns stay free at the right.
    let last = format!("→ export         {}…", &"a long description ".repeat(5)[..60]);
    assert_eq!([&screen[7], &screen[8]], [&last, "  (6/6)"]);
    harness.press("down");
    assert_eq!(harness.screen(80, 24)[8], "  (1/6)");
    harness.press("pageDown");
    assert_eq!(harness.screen(80, 24)[8], "  (6/6)");
    harness.press("pageUp");
    assert_eq!(harness.screen(80, 24)[8], "  (1/6)");
    assert_eq!(harness.click(5, 3), EditorEvent::Handled);
    assert!(harness.screen(80, 24)[5].starts_with("→ tree"));
    assert_eq!(harness.click(8, 3), EditorEvent::Ignored, "the position");
    harness.keys("pageUp");
    assert_eq!(harness.screen(40, 24)[4], "  model", "narrow: no descriptions");
    for width in 1..45 {
        harness.screen(width, 24);
    }
    harness.editor.set_max_menu_rows(20);
    harness.press("backspace");
    harness.typed("/");
    assert_eq!(harness.screen(80, 24).len(), 9, "all fit: no position");
}

#[test]
fn menu_of_files() {
    let mut harness = Harness::with(Fixed(Completions {
        kind: CompletionKind::File,
        replaced: 8..9,
        items: vec![
            Completion::new("src/", "@src/").described("src"),
            Completion::new("a.txt", "@a.txt ").described("a.txt"),
        ],
        is_complete: true,
    }));
    harness.editor.set_padding(1);
    harness.typed("look at @");
    assert_eq!(
        harness.screen(80, 24)[3..],
        [" → src/                            src", "   a.txt                           a.txt",]
    );
}

#[test]
fn hostile_completions_stay_on_one_line() {
    let mut harness = Harness::with(Fixed(Completions {
        kind: CompletionKind::Path,
        replaced: 0..1,
        items: vec![Completion::new("a\nb", "x").described("c\r\nd\te")],
        is_complete: true,
    }));
    harness.typed("/");
    assert_eq!(harness.screen(80, 24)[3], format!("→ a b{}c d e", " ".repeat(29)));
}

#[test]
fn input_line() {
    let theme = Theme::plain();
    let keymap = super::keymap();
    let view = |width| View { width, rows: 24, theme: &theme };
    let mut input = InputLine::new();
    assert_eq!(input.line(view(20)).text(), ">  ");
    assert_eq!(input.line(view(20)).caret, Some(2));
    for character in "hello wide 日本語 world".chars() {
        input.handle(&pi_tui::input::Input::Key(pi_tui::input::Key::typed(character)), &keymap);
    }
    assert_eq!(input.line(view(20)).text(), "> wide 日本語 world ");
    assert_eq!(input.line(view(20)).caret, Some(19));
    for _ in 0..23 {
        input.handle(&pi_tui::input::Input::Key(super::key_named("left")), &keymap);
    }
    assert_eq!(input.line(view(20)).text(), "> hello wide 日本語 ");
    for width in 0..20 {
        assert!(input.line(view(width)).width() <= width);
    }
    let inverse = |line: &Line| {
        line.spans().iter().any(|span| span.style.attributes.contains(Attributes::INVERSE))
    };
    assert!(inverse(&input.line(view(20))));
    input.set_hardware_cursor(true);
    assert!(!inverse(&input.line(view(20))));
}

#[test]
fn secrets_show_their_end() {
    let theme = Theme::plain();
    let view = View { width: 30, rows: 24, theme: &theme };
    let mut input = InputLine::masked();
    for (secret, shown) in [("", ""), ("sk", "••"), ("abcd", "••••"), ("sk-test", "•••test")]
    {
        input.set_text(secret);
        assert_eq!(input.line(view).text().trim_end(), format!("> {shown}").trim_end());
        assert_eq!(input.text(), secret);
    }
    input.clear();
    input.handle(&pi_tui::input::Input::Paste("sk-12\n34567\n".to_owned()), &super::keymap());
    assert_eq!(input.text(), "sk-1234567");
}

#[test]
fn hidden_characters_do_not_widen_a_row() {
    let mut harness = Harness::new();
    harness.editor.set_text(&"☺\u{202e}\u{fe0f}".repeat(50));
    for width in 1..20 {
        harness.screen(width, 24);
        harness.keys("left left");
    }
}
