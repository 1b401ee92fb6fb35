//! What each key does, as tables: keys, then the text with `|` at the caret.

use pi_tui::EditorEvent;

use super::Harness;

/// Runs rows of: text that is typed, keys, state.
fn check(rows: &[(&str, &str, &str)]) {
    for (text, keys, expected) in rows {
        let mut harness = Harness::new();
        harness.typed(text).keys(keys);
        assert_eq!(harness.state(), *expected, "{text:?}, then {keys:?}");
    }
}

#[test]
fn movement() {
    check(&[
        ("abc", "left", "ab|c"),
        ("abc", "ctrl+b ctrl+b", "a|bc"),
        ("abc", "home right", "a|bc"),
        ("abc", "ctrl+a ctrl+f", "a|bc"),
        ("ab\ncd", "home left", "ab|\ncd"),
        ("ab\ncd", "up end right", "ab\n|cd"),
        ("ab\ncd", "ctrl+a", "ab\n|cd"),
        ("ab\ncd", "up ctrl+e", "ab|\ncd"),
        ("foo bar-baz", "alt+left", "foo bar-|baz"),
        ("foo bar-baz", "alt+b alt+b", "foo bar|-baz"),
        ("foo bar-baz", "ctrl+left ctrl+left ctrl+left", "foo |bar-baz"),
        ("foo bar", "home alt+right", "foo| bar"),
        ("foo bar", "home alt+f ctrl+right", "foo bar|"),
        ("a\nb", "home alt+left", "a|\nb"),
        ("a\nb", "up end alt+right", "a\n|b"),
        ("e\u{301}x", "left left", "|e\u{301}x"),
        ("👨‍👩‍👧🇩🇪", "left", "👨‍👩‍👧|🇩🇪"),
        ("日本", "left", "日|本"),
        ("", "left right up down home end pageUp pageDown", "|"),
    ]);
}

#[test]
fn deletion() {
    check(&[
        ("abc", "backspace", "ab|"),
        ("abc", "home delete", "|bc"),
        ("abc", "home ctrl+d", "|bc"),
        ("abc", "shift+backspace home shift+delete", "|b"),
        ("ab\ncd", "home backspace", "ab|cd"),
        ("ab\ncd", "up end delete", "ab|cd"),
        ("foo bar", "ctrl+w", "foo |"),
        ("foo bar  ", "alt+backspace", "foo |"),
        ("a\nb", "home ctrl+w", "a|b"),
        ("foo bar", "home alt+d", "| bar"),
        ("foo bar", "home alt+delete alt+delete", "|"),
        ("foo bar", "left ctrl+u", "|r"),
        ("a\nb", "home ctrl+u", "a|b"),
        ("foo bar", "home right ctrl+k", "f|"),
        ("a\nb", "up end ctrl+k", "a|b"),
        ("👨‍👩‍👧", "backspace", "|"),
        ("e\u{301}", "backspace", "|"),
    ]);
}

#[test]
fn kill_ring() {
    check(&[
        ("one two", "ctrl+w ctrl+w ctrl+y", "one two|"),
        ("one two", "home alt+d alt+d ctrl+y ctrl+y", "one twoone two|"),
        ("a b", "ctrl+w left ctrl+k ctrl+y", "a |"),
        ("a b", "ctrl+w right ctrl+w ctrl+y alt+y", "b|"),
        ("a b", "ctrl+w right ctrl+w ctrl+y alt+y alt+y", "a |"),
        ("a", "alt+y ctrl+y", "a|"),
        ("ab", "ctrl+u ctrl+y left alt+y", "a|b"),
    ]);
}

#[test]
fn undo() {
    check(&[
        ("hello world", "ctrl+-", "hello|"),
        ("hello world", "ctrl+- ctrl+-", "|"),
        ("a  ", "ctrl+-", "a |"),
        ("ab", "left ctrl+-", "|"),
        ("ab cd", "ctrl+w ctrl+y ctrl+-", "ab |"),
        ("ab", "backspace backspace ctrl+-", "a|"),
        ("a\nb", "ctrl+- ctrl+-", "a|"),
        ("ab", "ctrl+- ctrl+- ctrl+-", "|"),
    ]);
    let mut harness = Harness::new();
    harness.typed("a").paste("bc").typed("d").keys("ctrl+- ctrl+-");
    assert_eq!(harness.state(), "a|");
    harness.editor.set_text("new");
    harness.press("ctrl+-");
    assert_eq!(harness.state(), "a|");
    assert!(matches!(harness.press("enter"), EditorEvent::Submit(_)));
    harness.press("ctrl+-");
    assert_eq!(harness.state(), "|", "submitting forgets the edits");
}

#[test]
fn vertical_movement_keeps_the_column() {
    check(&[
        ("long line\nab\nlong line", "up up", "long line|\nab\nlong line"),
        ("long line\nab\nlong line", "up left up", "l|ong line\nab\nlong line"),
        ("abc\nd", "up", "a|bc\nd"),
        ("日本語\nabcd", "left up", "日|本語\nabcd"),
        ("abc\nabc", "home up end down", "abc\nabc|"),
        ("a\nb", "down", "a\nb|"),
        ("a\nbc", "home down", "a\nbc|"),
    ]);
}

#[test]
fn rows_of_a_wrapped_line() {
    let mut harness = Harness::new();
    harness.typed("aaaa bbbb cccc");
    harness.screen(11, 24);
    // Rows: `aaaa bbbb `, `cccc`.
    harness.press("up");
    assert_eq!(harness.state(), "aaaa| bbbb cccc");
    harness.press("down");
    assert_eq!(harness.state(), "aaaa bbbb cccc|");
    harness.keys("home down");
    assert_eq!(harness.state(), "aaaa bbbb |cccc");
    harness.keys("end");
    assert_eq!(harness.state(), "aaaa bbbb cccc|");
}

#[test]
fn page_keys_move_by_the_visible_rows() {
    let mut harness = Harness::new();
    let text: Vec<String> = (1..=20).map(|number| number.to_string()).collect();
    harness.editor.set_text(&text.join("\n"));
    harness.screen(20, 24);
    harness.press("pageUp");
    assert_eq!(harness.editor.caret().line, 12, "7 rows are visible at 24");
    harness.keys("ctrl+pageUp ctrl+pageUp");
    assert_eq!(harness.editor.caret().line, 0);
    harness.press("pageDown");
    assert_eq!(harness.editor.caret().line, 7);
}

#[test]
fn jumps_to_a_character() {
    check(&[
        ("abcabc", "home ctrl+] c", "ab|cabc"),
        ("abcabc", "home ctrl+] c ctrl+] c", "abcab|c"),
        ("abcabc", "ctrl+alt+] b", "abca|bc"),
        ("ab\nxb", "ctrl+alt+] a", "|ab\nxb"),
        ("ab\nxy", "up home ctrl+] y", "ab\nx|y"),
        ("aB", "home ctrl+] b", "|aB"),
        ("ab", "home ctrl+] ctrl+] b", "b|ab"),
        ("ab", "home ctrl+] escape b", "b|ab"),
        ("ab", "ctrl+alt+] z", "ab|"),
        ("ab", "ctrl+] left c", "ac|b"),
    ]);
}

#[test]
fn enter_and_new_lines() {
    check(&[
        ("a", "shift+enter b", "a\nb|"),
        ("a", "ctrl+j b", "a\nb|"),
        ("a\\", "enter b", "a\nb|"),
        ("a\\\\", "enter b", "a\\\nb|"),
        ("", "enter", "|"),
        ("  ", "enter", "  |"),
    ]);
    let mut harness = Harness::new();
    harness.typed("  hi\nthere ");
    assert_eq!(harness.press("enter"), EditorEvent::Submit("hi\nthere".to_owned()));
    assert!(harness.editor.is_empty());
    harness.typed("kept");
    harness.editor.set_submit_enabled(false);
    assert_eq!(harness.press("enter"), EditorEvent::SubmitBlocked);
    assert_eq!(harness.state(), "kept|");
}

#[test]
fn swapped_enter() {
    let mut harness = Harness::new();
    harness.keymap.bind("tui.input.submit", vec!["shift+enter".parse().unwrap()]);
    harness.keymap.bind("tui.input.newLine", vec!["enter".parse().unwrap()]);
    harness.typed("a").keys("enter");
    harness.typed("b\\");
    assert_eq!(harness.press("enter"), EditorEvent::Submit("a\nb".to_owned()));
    harness.typed("c");
    assert_eq!(harness.press("shift+enter"), EditorEvent::Submit("c".to_owned()));
}

#[test]
fn history() {
    let mut harness = Harness::new();
    for entry in ["one", "two\nlines", "two\nlines", " ", "three"] {
        harness.editor.add_history(entry);
    }
    let steps = [
        ("up", "|three"),
        ("up", "|two\nlines"),
        ("up", "|one"),
        ("up", "|one"),
        ("down", "two\nlines|"),
        ("up", "two|\nlines"),
        ("up", "|one"),
        ("down", "two\nlines|"),
        ("down", "three|"),
        ("down", "|"),
        ("down", "|"),
    ];
    for (index, (key, expected)) in steps.into_iter().enumerate() {
        harness.press(key);
        assert_eq!(harness.state(), expected, "step {index}");
    }
}

#[test]
fn history_keeps_the_draft() {
    let mut harness = Harness::new();
    harness.editor.set_history(&["old".to_owned(), "new".to_owned()]);
    harness.typed("dr");
    let long = "x\n".repeat(20);
    harness.paste(&long);
    harness.press("up");
    assert_eq!(harness.state(), "|dr[paste #1 +21 lines]", "first to the start");
    harness.press("up");
    assert_eq!(harness.state(), "|new");
    harness.press("down");
    assert_eq!(harness.editor.text(), format!("dr{long}"));
    // Typing ends browsing: Up then goes to the start of the row.
    harness.keys("home up end x up");
    assert_eq!(harness.state(), "|newx");
    harness.keys("up");
    assert_eq!(harness.state(), "|new");
}

#[test]
fn history_keys_work_anywhere() {
    let mut harness = Harness::new();
    harness.keymap.bind("tui.editor.historyPrevious", vec!["ctrl+r".parse().unwrap()]);
    harness.keymap.bind("tui.editor.historyNext", vec!["ctrl+s".parse().unwrap()]);
    harness.editor.add_history("old");
    harness.typed("a\nb").press("ctrl+r");
    assert_eq!(harness.state(), "|old");
    harness.press("ctrl+s");
    assert_eq!(harness.state(), "a\nb|");
    assert!(harness.editor.wants(&super::key_named("ctrl+r"), &harness.keymap));
}

#[test]
fn pastes() {
    // Pasted after `word`, text that is inserted.
    let table = [
        ("a\r\nb\rc", "worda\nb\nc"),
        ("a\tb", "worda    b"),
        ("a\x1b[31mb\x07\u{85}", "worda[31mb"),
        ("/tmp/x", "word /tmp/x"),
        ("~/x", "word ~/x"),
        (".x", "word .x"),
        ("a\x1b[106;5ub", "worda\nb"),
        ("a\x1b[999;5u\x1b[1x\x1b[106;6u", "worda[999;5u[1x[106;6u"),
        ("\u{FDD0}\u{FDE0}x\u{FEFF}y", "wordx\u{FEFF}y"),
        ("$& $1 \\0", "word$& $1 \\0"),
    ];
    for (pasted, expected) in table {
        let mut harness = Harness::new();
        harness.typed("word").paste(pasted);
        assert_eq!(harness.editor.text(), expected, "{pasted:?}");
    }
}

#[test]
fn long_pastes_are_markers() {
    let lines = "$&\n".repeat(10);
    let chars = "é".repeat(1001);
    let mut harness = Harness::new();
    harness.typed("a").paste(&lines).typed("b").paste(&chars).typed("c");
    harness.paste(&"y".repeat(1000)).keys("ctrl+-");
    assert_eq!(harness.editor.displayed_text(), "a[paste #1 +11 lines]b[paste #2 1001 chars]c");
    assert_eq!(harness.editor.text(), format!("a{lines}b{chars}c"));
    // A marker is one unit.
    harness.keys("home right right");
    let caret = harness.editor.caret().column;
    harness.keys("left right");
    assert_eq!(harness.editor.caret().column, caret);
    harness.press("backspace");
    assert_eq!(harness.editor.displayed_text(), "ab[paste #1 1001 chars]c", "renumbered");
    harness.press("ctrl+-");
    assert_eq!(harness.editor.displayed_text(), "a[paste #1 +11 lines]b[paste #2 1001 chars]c");
    harness.press("ctrl+k");
    assert_eq!(harness.editor.displayed_text(), "a[paste #1 +11 lines]");
    harness.keys("home ctrl+y");
    assert_eq!(harness.editor.text(), format!("b{chars}ca{lines}"));
    assert_eq!(
        harness.press("enter"),
        EditorEvent::Submit(format!("b{chars}ca{lines}").trim().to_owned())
    );
    // What was cut survives, with its number counted anew.
    harness.press("ctrl+y");
    assert_eq!(harness.editor.displayed_text(), "b[paste #1 1001 chars]c");
    assert_eq!(harness.editor.text(), format!("b{chars}c"));
}

#[test]
fn text_that_looks_like_a_marker_is_text() {
    let mut harness = Harness::new();
    harness.paste(&"x\n".repeat(20)).typed("[paste #1 +21 lines]").press("backspace");
    assert_eq!(harness.editor.displayed_text(), "[paste #1 +21 lines][paste #1 +21 lines");
    assert!(harness.editor.text().ends_with("[paste #1 +21 lines"));
}

#[test]
fn clicks() {
    let mut harness = Harness::new();
    harness.editor.set_padding(2);
    harness.editor.set_text("日本語 text\nab");
    harness.screen(40, 24);
    // Row, column, state.
    let table = [
        (1, 0, "|日本語 text\nab"),
        (1, 3, "|日本語 text\nab"),
        (1, 4, "日|本語 text\nab"),
        (1, 39, "日本語 text|\nab"),
        (2, 3, "日本語 text\na|b"),
    ];
    for (row, column, expected) in table {
        assert_eq!(harness.click(row, column), EditorEvent::Handled);
        assert_eq!(harness.state(), expected, "row {row}, column {column}");
    }
    assert_eq!(harness.click(0, 3), EditorEvent::Ignored, "the border");
    assert_eq!(harness.click(3, 3), EditorEvent::Ignored, "the border");
    assert_eq!(harness.click(4, 3), EditorEvent::Ignored, "no menu");
}

#[test]
fn taking_the_text_empties_the_editor() {
    let mut harness = Harness::new();
    assert_eq!(harness.editor.take_text(), None);
    harness.typed(" a ").paste(&"x\n".repeat(20));
    let text = format!("a {}", "x\n".repeat(20));
    assert_eq!(harness.editor.take_text().as_deref(), Some(text.trim()));
    assert!(harness.editor.is_empty());
}

#[test]
fn ten_megabytes() {
    let line = "the quick brown fox jumps over the lazy dog, twice\n";
    let text = line.repeat(10_000_000 / line.len());
    let mut harness = Harness::new();
    harness.screen(80, 24);
    harness.paste(&text).typed("!");
    assert!(harness.screen(80, 24)[1].starts_with("[paste #1 +"));
    assert_eq!(harness.press("enter"), EditorEvent::Submit(format!("{text}!")));
    harness.paste(&"\x1b[".repeat(1_000_000));
    harness.editor.clear();
    // A keystroke costs a line: this would take minutes if it cost the text.
    harness.editor.set_text(&text);
    for _ in 0..300 {
        harness.keys("up left x");
        harness.screen(80, 24);
    }
    assert_eq!(harness.editor.text().len(), text.len() + 300);
}
