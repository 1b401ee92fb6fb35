//! Vim mode, as tables: text with `|` at the caret, keys, text and caret after them.

use pi_tui::input::Input;
use pi_tui::{EditorEvent, InputEvent, InputLine, NoCompleter};
use proptest::prelude::*;

use super::{Harness, key_named};

/// Creates an editor in normal mode with a text; `|` stands before the character of the caret.
fn normal(state: &str) -> Harness {
    let mut harness = Harness::with(NoCompleter);
    let (before, after) = state.split_once('|').expect("a caret");
    harness.editor.set_vim(true);
    harness.editor.set_text(&format!("{before}{after}"));
    harness.press("escape");
    harness.typed_vim("gg0");
    for _ in 0..before.matches('\n').count() {
        harness.typed_vim("j");
    }
    let line = before.rsplit('\n').next().unwrap_or_default();
    harness.typed_vim("0");
    for _ in 0..pi_tui::text::graphemes(line).count() {
        harness.press("right");
    }
    harness
}

impl Harness {
    /// Presses keys: characters, or names in angle brackets.
    fn typed_vim(&mut self, keys: &str) -> &mut Self {
        let mut rest = keys;
        while !rest.is_empty() {
            match rest.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
                Some((name, after)) if name.len() > 1 => {
                    self.press(name);
                    rest = after;
                }
                _ => {
                    let end = rest.chars().next().map_or(0, char::len_utf8);
                    self.typed(&rest[..end]);
                    rest = &rest[end..];
                }
            }
        }
        self
    }
}

fn check(rows: &[(&str, &str, &str)]) {
    for (state, keys, expected) in rows {
        let mut harness = normal(state);
        assert_eq!(harness.state(), *state, "before {keys:?}");
        harness.typed_vim(keys);
        assert_eq!(harness.state(), *expected, "{state:?}, then {keys:?}");
    }
}

#[test]
fn motions() {
    check(&[
        ("ab|c", "h", "a|bc"),
        ("a|bc", "lll", "ab|c"),
        ("|abc", "2l", "ab|c"),
        ("ab|c", "<backspace>", "a|bc"),
        ("|foo bar-baz  qux", "w", "foo |bar-baz  qux"),
        ("|foo bar-baz  qux", "3w", "foo bar-|baz  qux"),
        ("|foo bar-baz  qux", "WW", "foo bar-baz  |qux"),
        ("|a\n\nb", "w", "a\n|\nb"),
        ("|a\n\nb", "ww", "a\n\n|b"),
        ("foo bar-ba|z", "b", "foo bar-|baz"),
        ("foo bar-|baz", "bb", "foo |bar-baz"),
        ("foo bar-ba|z", "BB", "|foo bar-baz"),
        ("a\n  |b", "b", "|a\n  b"),
        ("|foo bar", "e", "fo|o bar"),
        ("fo|o bar", "e", "foo ba|r"),
        ("|foo-bar x", "E", "foo-ba|r x"),
        ("|a\nbc", "e", "a\nb|c"),
        ("  a|b", "0", "|  ab"),
        ("  a|b", "^", "  |ab"),
        ("|abc", "$", "ab|c"),
        ("a\nb\n|c", "gg", "|a\nb\nc"),
        ("|a\nb\nc", "G", "a\nb\n|c"),
        ("|a\nb\nc", "2G", "a\n|b\nc"),
        ("a\nb\n|c", "2gg", "a\n|b\nc"),
        ("|abcabc", "fc", "ab|cabc"),
        ("|abcabc", "2fc", "abcab|c"),
        ("|abcabc", "fc;", "abcab|c"),
        ("|abcabc", "fc;,", "ab|cabc"),
        ("|abcabc", "tc", "a|bcabc"),
        ("|abcabc", "tc;", "abca|bc"),
        ("abcab|c", "Fa", "abc|abc"),
        ("abcab|c", "Ta", "abca|bc"),
        ("|abc", "fx", "|abc"),
        ("ab|cd\nx\nabcd", "jj", "abcd\nx\nab|cd"),
        ("abcd\nx\nab|cd", "kk", "ab|cd\nx\nabcd"),
        ("|日本語 ok", "e", "日本|語 ok"),
        ("|e\u{301}a", "l", "e\u{301}|a"),
        ("|", "hjklwbe0^$", "|"),
    ]);
}

#[test]
fn operators() {
    check(&[
        ("a|bc", "x", "a|c"),
        ("a|bcd", "2x", "a|d"),
        ("ab|c", "x", "a|b"),
        ("ab|c", "X", "a|c"),
        ("|foo bar", "dw", "|bar"),
        ("|foo bar baz", "2dw", "|baz"),
        ("|foo bar baz", "d2w", "|baz"),
        ("foo |bar\nbaz", "dw", "foo| \nbaz"),
        ("foo ba|r", "db", "foo |r"),
        ("|foo bar", "de", "| bar"),
        ("foo |bar", "d$", "foo| "),
        ("foo |bar", "D", "foo| "),
        ("foo |bar", "d0", "|bar"),
        ("|foo(bar)", "df(", "|bar)"),
        ("|foo(bar)", "dt(", "|(bar)"),
        ("a\n|b\nc", "dd", "a\n|c"),
        ("a\nb\n|c", "dd", "a\n|b"),
        ("|a", "dd", "|"),
        ("|a\nb\nc", "2dd", "|c"),
        ("|a\nb\nc", "dj", "|c"),
        ("a\nb\n|c", "dk", "|a"),
        ("a\n|b\nc", "dG", "|a"),
        ("a\n|b\nc", "dgg", "|c"),
        ("|foo bar", "cwnew<escape>", "ne|w bar"),
        ("f|oo bar", "cwx<escape>", "f|x bar"),
        ("|a b", "cwxy<escape>", "x|y b"),
        ("|foo bar baz", "c2wx<escape>", "|x baz"),
        ("foo |bar", "Cx<escape>", "foo |x"),
        ("a\n|b\nc", "ccx<escape>", "a\n|x\nc"),
        ("a\n|b\nc", "Sx<escape>", "a\n|x\nc"),
        ("a|bc", "sx<escape>", "a|xc"),
        ("|abc", "dq", "|abc"),
        ("|abc", "d<escape>x", "|bc"),
    ]);
}

#[test]
fn objects() {
    check(&[
        ("foo b|ar baz", "diw", "foo | baz"),
        ("foo b|ar baz", "daw", "foo |baz"),
        ("foo b|ar", "daw", "fo|o"),
        ("x a-|b y", "diW", "x | y"),
        ("say \"he|llo\" x", "di\"", "say \"|\" x"),
        ("say \"he|llo\" x", "da\"", "say |x"),
        ("|say \"hello\"", "ci\"x<escape>", "say \"|x\""),
        ("f(a, (b|), c)", "di(", "f(a, (|), c)"),
        ("f(a|, (b), c)", "di(", "f(|)"),
        ("f(a|, (b), c)", "da)", "|f"),
        ("f(a|)", "dib", "f(|)"),
        ("{\n a|b\n}", "di{", "{|}"),
        ("[a|b]", "di]", "[|]"),
        ("<a|b>", "di>", "<|>"),
        ("it's |here", "di'", "it's |here"),
        ("no |brackets", "di(", "no |brackets"),
    ]);
}

#[test]
fn yank_and_put() {
    check(&[
        ("|foo bar", "yw$p", "foo barfoo| "),
        ("|ab", "ylp", "a|ab"),
        ("|ab", "ylP", "|aab"),
        ("|ab", "yl3p", "aaa|ab"),
        ("|ab", "xp", "b|a"),
        ("|a\nb", "yyp", "a\n|a\nb"),
        ("|a\nb", "jYkP", "|b\na\nb"),
        ("|a\nb", "yy2p", "a\n|a\na\nb"),
        ("|a\nb\nc", "ddp", "b\n|a\nc"),
        ("a\nb\n|c", "ddP", "a\n|c\nb"),
        ("a |b", "yiwP", "a |bb"),
        ("|a", "p", "|a"),
    ]);
}

#[test]
fn small_commands() {
    check(&[
        ("a|bc", "rx", "a|xc"),
        ("|abc", "2rx", "x|xc"),
        ("ab|c", "2rx", "ab|c"),
        ("|abC", "~", "A|bC"),
        ("|abC", "3~", "AB|c"),
        ("|a\n  b\nc", "J", "a| b\nc"),
        ("|a\nb\nc", "3J", "a b| c"),
        ("|a", "J", "|a"),
        ("a|b", "ix<escape>", "a|xb"),
        ("a|b", "ax<escape>", "ab|x"),
        ("  a|b", "Ix<escape>", "  |xab"),
        ("|ab", "Ax<escape>", "ab|x"),
        ("|a\nb", "ox<escape>", "a\n|x\nb"),
        ("a\n|b", "Ox<escape>", "a\n|x\nb"),
        ("|a", "3ix<escape>", "xx|xa"),
        ("|", "ihi<escape>", "h|i"),
    ]);
}

#[test]
fn undo_redo_and_repeat() {
    check(&[
        ("|abc", "xxu", "|bc"),
        ("|abc", "xx2u", "|abc"),
        ("|abc", "xxuu<ctrl+r>", "|bc"),
        ("|abc", "ihello world<escape>u", "|abc"),
        ("|foo bar", "cwx y<escape>u", "|foo bar"),
        ("|abcdef", "x..", "|def"),
        ("|abcdef", "2x.", "|ef"),
        ("|abcdef", "x3.", "|ef"),
        ("|foo bar baz", "cwx<escape>w.", "x |x baz"),
        ("|foo bar baz", "dw.", "|baz"),
        ("|a\nb\nc", "dd.", "|c"),
        ("|a", "Ax<escape>..", "axx|x"),
        ("|a", "ox<escape>.", "a\nx\n|x"),
        ("|abc", "rxl.", "x|xc"),
        ("|ab cd", "cwx<escape>w.u", "x |cd"),
        ("|a\nb\nc", "Ju", "|a\nb\nc"),
    ]);
}

#[test]
fn visual() {
    check(&[
        ("|abcd", "vld", "|cd"),
        ("ab|cd", "vhd", "a|d"),
        ("|foo bar", "vex", "| bar"),
        ("|foo bar", "vec!<escape>", "|! bar"),
        ("|foo bar", "vey$p", "foo barfo|o"),
        ("|a\nb\nc", "Vjd", "|c"),
        ("|a\nb\nc", "VjyGp", "a\nb\nc\n|a\nb"),
        ("|a\nb", "vjd", "|"),
        ("foo b|ar", "viwd", "foo| "),
        ("f(a|b)", "vi(cx<escape>", "f(|x)"),
        ("ab|cd", "vo~", "ab|Cd"),
        ("|abcd", "vl~", "|ABcd"),
        ("|abcd", "vlrx", "|xxcd"),
        ("|a\nb\nc", "VjJ", "a| b\nc"),
        ("|foo bar", "yiwwviwp", "foo fo|o"),
        ("|abc", "vl<escape>x", "a|c"),
        ("|abc", "vvx", "|bc"),
        ("|abc", "v<right>d", "|c"),
    ]);
}

#[test]
fn modes_and_escape() {
    let mut harness = Harness::new();
    assert_eq!(harness.editor.mode_label(), None);
    assert!(!harness.editor.vim_wants_escape());
    harness.editor.set_vim(true);
    assert_eq!(harness.editor.mode_label(), Some("INSERT"));
    harness.typed("dd");
    assert!(harness.editor.vim_wants_escape());
    assert_eq!(harness.press("escape"), EditorEvent::Handled);
    assert_eq!(harness.editor.mode_label(), Some("NORMAL"));
    assert!(!harness.editor.vim_wants_escape());
    assert_eq!(harness.press("escape"), EditorEvent::Ignored, "for the program");
    harness.typed("d");
    assert!(harness.editor.vim_wants_escape(), "a command is not complete");
    assert!(harness.editor.wants(&key_named("escape"), &harness.keymap));
    harness.press("escape");
    harness.typed("v");
    assert_eq!(harness.editor.mode_label(), Some("VISUAL"));
    harness.typed("V");
    assert_eq!(harness.editor.mode_label(), Some("V-LINE"));
    harness.press("escape");
    assert_eq!(harness.press("enter"), EditorEvent::Submit("dd".to_owned()));
    assert_eq!(harness.editor.mode_label(), Some("INSERT"), "a new text is typed");
    harness.editor.set_vim(false);
    harness.typed("i");
    assert_eq!(harness.state(), "i|");
}

#[test]
fn history_and_markers() {
    let mut harness = normal("|");
    harness.editor.add_history("one");
    harness.editor.add_history("two");
    harness.typed_vim("kk");
    assert_eq!(harness.state(), "|one");
    harness.typed_vim("jj");
    assert_eq!(harness.state(), "|");
    harness.paste(&"x\n".repeat(20));
    harness.typed_vim("yypdd");
    assert_eq!(harness.editor.displayed_text(), "[paste #1 +21 lines]");
    assert!(matches!(harness.press("enter"), EditorEvent::Submit(_)));
    harness.typed_vim("<escape>p");
    assert_eq!(harness.editor.text().lines().count(), 21, "the register outlives the text");
}

#[test]
fn a_text_that_is_set_is_undone_on_its_own() {
    let mut harness = Harness::new();
    harness.editor.set_vim(true);
    harness.typed("typed");
    harness.editor.set_text("set");
    harness.typed("more").press("escape");
    for expected in ["set", "typed", ""] {
        harness.typed("u");
        assert_eq!(harness.editor.text(), expected);
    }
}

#[test]
fn input_lines_have_it_too() {
    let keymap = super::keymap();
    let mut input = InputLine::new();
    input.set_vim(true);
    let press = |input: &mut InputLine, keys: &str| {
        let mut last = InputEvent::Ignored;
        for key in keys.split(' ') {
            last = input.handle(&Input::Key(key_named(key)), &keymap);
        }
        last
    };
    press(&mut input, "a b c escape o d escape y y p O x");
    assert_eq!(input.text(), "xabcdabcd");
    assert!(input.vim_wants_escape());
    assert_eq!(press(&mut input, "escape"), InputEvent::Handled);
    assert_eq!(press(&mut input, "escape"), InputEvent::Cancel);
    press(&mut input, "d d");
    assert_eq!(input.text(), "");
}

proptest! {
    #[test]
    fn random_keys_do_no_harm(
        keys in prop::collection::vec(prop::sample::select(vec![
            "h", "j", "k", "l", "w", "b", "e", "W", "B", "E", "0", "^", "$", "g", "G", "f", "F",
            "t", "T", ";", ",", "x", "X", "d", "c", "y", "p", "P", "D", "C", "Y", "r", "~", "J",
            "u", "ctrl+r", "o", "O", "I", "A", "a", "i", "v", "V", ".", "3", "2", "\"", "(", "é",
            "日", "space", "escape", "escape", "escape", "backspace", "delete", "up", "down",
            "shift+enter", "ctrl+-", "ctrl+w",
        ]), 1..80),
    ) {
        let mut harness = normal("|foo (bar) \"b\u{301}az\"\n\n  日本 x.y\n👩‍👩‍👧 end");
        for key in &keys {
            harness.press(key);
            let caret = harness.editor.caret();
            let text = harness.editor.text();
            let line = text.split('\n').nth(caret.line).unwrap_or_default();
            prop_assert!(line.is_char_boundary(caret.column));
            if harness.editor.mode_label() == Some("NORMAL") && !line.is_empty() {
                prop_assert!(caret.column < line.len(), "{:?} {:?}", line, caret);
            }
            harness.screen(7, 20);
        }
        // Everything can be taken back.
        harness.press("escape");
        while harness.editor.undo() {}
        prop_assert!(harness.editor.is_empty());
    }
}
