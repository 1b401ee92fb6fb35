//! Tests of the decoder: keys of every protocol, replies, pastes, garbage, and cuts anywhere.

use proptest::prelude::*;
use serde_json::json;

use super::defaults::Platform;
use super::keymap::Binding;
use super::*;

/// Decodes bytes in one read, then waits.
fn decode(bytes: &[u8]) -> Vec<Event> {
    let mut decoder = Decoder::default();
    let mut events = Vec::new();
    decoder.push(bytes, &mut events);
    decoder.flush(&mut events);
    events
}

/// Writes events shortly: keys by id, with text, and with the kind if it is not a press.
fn short(events: &[Event]) -> String {
    let parts = events.iter().map(|event| match event {
        Event::Input(Input::Key(key)) => {
            let text = key.text.as_ref().map(|text| format!("={text}")).unwrap_or_default();
            let kind = match key.kind {
                KeyKind::Press => "",
                KeyKind::Repeat => " repeat",
                KeyKind::Release => " release",
            };
            format!("{}{text}{kind}", key.id())
        }
        Event::Input(Input::Paste(text)) => format!("paste {text:?}"),
        Event::Input(Input::Focus(focused)) => format!("focus {focused}"),
        Event::Input(Input::Mouse(mouse)) => {
            let held = KeyId { code: KeyCode::Space, modifiers: mouse.modifiers };
            format!("{held} {:?} {},{}", mouse.kind, mouse.column, mouse.row)
        }
        Event::Reply(reply) => format!("{reply:?}"),
    });
    parts.collect::<Vec<_>>().join(" | ")
}

#[test]
fn keys_of_every_protocol() {
    let table: &[(&str, &str)] = &[
        // Text.
        ("a", "a=a"),
        ("A", "shift+a=A"),
        ("!", "!=!"),
        (" ", "space= "),
        ("é", "é=é"),
        ("Ж", "shift+ж=Ж"),
        ("👍", "👍=👍"),
        ("ab", "a=a | b=b"),
        // Control characters.
        ("\r", "enter"),
        ("\n", "ctrl+j"),
        ("\t", "tab"),
        ("\x7f", "backspace"),
        ("\x08", "ctrl+backspace"),
        ("\x00", "ctrl+space"),
        ("\x03", "ctrl+c"),
        ("\x1a", "ctrl+z"),
        ("\x1c", "ctrl+\\"),
        ("\x1d", "ctrl+]"),
        ("\x1e", "ctrl+^"),
        ("\x1f", "ctrl+-"),
        // ESC as a prefix.
        ("\x1b", "escape"),
        ("\x1b\x1b", "escape | escape"),
        ("\x1b\x1b\x1b", "escape | escape | escape"),
        ("\x1bb", "alt+b"),
        ("\x1bB", "shift+alt+b"),
        ("\x1b\r", "alt+enter"),
        ("\x1b\n", "ctrl+alt+j"),
        ("\x1b\x7f", "alt+backspace"),
        ("\x1b\x08", "ctrl+alt+backspace"),
        ("\x1b\x1d", "ctrl+alt+]"),
        ("\x1b\x1bx", "escape | alt+x"),
        ("\x1bé", "alt+é"),
        ("\x1b ", "alt+space"),
        ("\x1b[", "alt+["),
        ("\x1bO", "shift+alt+o"),
        ("\x1b]", "alt+]"),
        ("\x1bP", "shift+alt+p"),
        ("\x1b_", "alt+_"),
        ("\x1b[\r", "alt+[ | enter"),
        ("\x1b]\x03", "alt+] | ctrl+c"),
        // Cursor and function keys.
        ("\x1b[A", "up"),
        ("\x1bOA", "up"),
        ("\x1b[1;2A", "shift+up"),
        ("\x1b[1;5D", "ctrl+left"),
        ("\x1b[1;3C", "alt+right"),
        ("\x1b[1;6B", "shift+ctrl+down"),
        ("\x1b[1;9A", "super+up"),
        ("\x1b\x1b[A", "alt+up"),
        ("\x1b\x1bOA", "alt+up"),
        ("\x1b[H", "home"),
        ("\x1bOF", "end"),
        ("\x1b[1;5H", "ctrl+home"),
        ("\x1b[E", "clear"),
        ("\x1b[Z", "shift+tab"),
        ("\x1b[1;5Z", "shift+ctrl+tab"),
        ("\x1b[1~", "home"),
        ("\x1b[2~", "insert"),
        ("\x1b[3~", "delete"),
        ("\x1b[3;2~", "shift+delete"),
        ("\x1b[3;3~", "alt+delete"),
        ("\x1b[4~", "end"),
        ("\x1b[5~", "pageUp"),
        ("\x1b[6;5~", "ctrl+pageDown"),
        ("\x1b[7~", "home"),
        ("\x1b[8~", "end"),
        ("\x1bOP", "f1"),
        ("\x1b[1;2R", "shift+f3"),
        ("\x1b[15~", "f5"),
        ("\x1b[17~", "f6"),
        ("\x1b[21~", "f10"),
        ("\x1b[24;5~", "ctrl+f12"),
        ("\x1b[34~", "f20"),
        // Numbers of modifiers after SS3, keys of the keypad.
        ("\x1bO5A", "ctrl+up"),
        ("\x1bO1;2P", "shift+f1"),
        ("\x1bOM", "enter"),
        ("\x1bOp", "0=0"),
        ("\x1bOk", "+=+"),
        // rxvt and the Linux console.
        ("\x1b[a", "shift+up"),
        ("\x1bOd", "ctrl+left"),
        ("\x1b[3$", "shift+delete"),
        ("\x1b[5^", "ctrl+pageUp"),
        ("\x1b[6@", "shift+ctrl+pageDown"),
        ("\x1b[11~", "f1"),
        ("\x1b[13~", "f3"),
        ("\x1b[[A", "f1"),
        ("\x1b[[E", "f5"),
        // Shift+Enter in all its forms.
        ("\x1b[13;2u", "shift+enter"),
        ("\x1b[13;2~", "shift+enter"),
        ("\x1b[13;6~", "shift+ctrl+enter"),
        ("\x1b[27;2;13~", "shift+enter"),
        ("\x1b[27;5;13~", "ctrl+enter"),
        // modifyOtherKeys.
        ("\x1b[27;5;99~", "ctrl+c"),
        ("\x1b[27;6;80~", "shift+ctrl+p"),
        ("\x1b[27;6;33~", "ctrl+!"),
        ("\x1b[27;2;65~", "shift+a=A"),
        ("\x1b[27;3;13~", "alt+enter"),
        ("\x1b[27;5;45~", "ctrl+-"),
        ("\x1b[27;5;127~", "ctrl+backspace"),
        ("\x1b[27;2;9~", "shift+tab"),
        ("\x1b[27;5;27~", "ctrl+escape"),
        // kitty.
        ("\x1b[27u", "escape"),
        ("\x1b[97u", "a=a"),
        ("\x1b[97;5u", "ctrl+a"),
        ("\x1b[97;69u", "ctrl+a"),
        ("\x1b[97;133u", "ctrl+a"),
        ("\x1b[97;129u", "a=a"),
        ("\x1b[97;65u", "a=A"),
        ("\x1b[97:65;2u", "shift+a=A"),
        ("\x1b[108;2u", "shift+l=L"),
        ("\x1b[49:33;2u", "!=!"),
        ("\x1b[47:63;4u", "alt+?"),
        ("\x1b[45:95;6u", "ctrl+-"),
        ("\x1b[45;5u", "ctrl+-"),
        ("\x1b[93;7u", "ctrl+alt+]"),
        ("\x1b[112:80;6u", "shift+ctrl+p"),
        ("\x1b[106;5u", "ctrl+j"),
        ("\x1b[97;9u", "super+a"),
        ("\x1b[97;17u", "super+a"),
        ("\x1b[1089::99;5u", "ctrl+c"),
        ("\x1b[1089:1057:99;2u", "shift+c=С"),
        ("\x1b[246::59;5u", "ctrl+ö"),
        ("\x1b[97;1:2u", "a=a repeat"),
        ("\x1b[97;1:3u", "a release"),
        ("\x1b[97;;229u", "a=å"),
        ("\x1b[0;;19990:30028u", "世=世界"),
        ("\x1b[1;5:3A", "ctrl+up release"),
        ("\x1b[3;1:3~", "delete release"),
        ("\x1b[57399u", "0=0"),
        ("\x1b[57414;2u", "shift+enter"),
        ("\x1b[57417u", "left"),
        ("\x1b[57376u", "f13"),
        ("\x1b[127;5u", "ctrl+backspace"),
        ("\x1b[32;5u", "ctrl+space"),
        ("\x1b[9;2u", "shift+tab"),
        ("\x1b[57441;2u", ""),
        // A terminal that sends a character twice.
        ("\x1b[97uab", "a=a | b=b"),
        ("\x1b[97u\x1b[97;1:3uab", "a=a | a release | a=a | b=b"),
        ("\x1b[97:65;2uAA", "shift+a=A | shift+a=A"),
        ("\x1b[233ué", "é=é"),
        // With the kitty protocol active.
        ("\x1b[?7u\n", "KittyFlags(7) | shift+enter"),
        ("\x1b[?7u\x1b\r", "KittyFlags(7) | shift+enter"),
        ("\x1b[?0u\n", "KittyFlags(0) | ctrl+j"),
    ];
    for (bytes, expected) in table {
        assert_eq!(short(&decode(bytes.as_bytes())), *expected, "{bytes:?}");
    }
}

#[test]
fn mouse_focus_and_paste() {
    let table: &[(&[u8], &str)] = &[
        (b"\x1b[<0;1;1M", "space Press(Left) 0,0"),
        (b"\x1b[<2;300;120m", "space Release(Right) 299,119"),
        (b"\x1b[<36;5;6M", "shift+space Drag(Left) 4,5"),
        (b"\x1b[<35;5;6M", "space Move 4,5"),
        (b"\x1b[<64;5;6M", "space WheelUp 4,5"),
        (b"\x1b[<73;5;6M", "alt+space WheelDown 4,5"),
        (b"\x1b[<128;5;6M", ""),
        (b"\x1b[M !!", "space Press(Left) 0,0"),
        (b"\x1b[M#\xa1!", "space Release(Left) 128,0"),
        (b"\x1b[32;7;8M", "space Press(Left) 6,7"),
        (b"\x1b[I\x1b[O", "focus true | focus false"),
        (b"\x1b[200~a\r\nb\x1b[201~c", "paste \"a\\r\\nb\" | c=c"),
        (b"\x1b[200~\x1b[31mred\x1b[20\x1b[201~", "paste \"\\u{1b}[31mred\\u{1b}[20\""),
        (b"\x1b[200~\x1b[201~", "paste \"\""),
        (b"\x1b[200~a\xffb\x1b[201~", "paste \"a\u{fffd}b\""),
        (b"\x1b[201~", ""),
        (b"\xe4\xb8x", "\u{fffd}=\u{fffd} | x=x"),
        (b"\xffx", "\u{fffd}=\u{fffd} | x=x"),
        (b"\xe1", "alt+a"),
        (b"\xff", "alt+backspace"),
        (b"\xe4\xb8", "\u{fffd}=\u{fffd}"),
    ];
    for (bytes, expected) in table {
        assert_eq!(short(&decode(bytes)), *expected, "{bytes:?}");
    }
}

#[test]
fn replies_and_unknown_sequences() {
    let table: &[(&str, &str)] = &[
        ("\x1b[?7u", "KittyFlags(7)"),
        ("\x1b[?62;4;52c", "PrimaryAttributes([62, 4, 52])"),
        ("\x1b[>1;10;0c", ""),
        ("\x1b[?12;40R", "CursorPosition { row: 11, column: 39 }"),
        ("\x1b[12;40R", "CursorPosition { row: 11, column: 39 }"),
        ("\x1b]10;rgb:ffff/8080/0000\x07", "Foreground(Rgb(255, 128, 0))"),
        ("\x1b]11;rgb:0/8/f\x1b\\", "Background(Rgb(0, 136, 255))"),
        ("\x1b]11;#1e1e2e\x07", "Background(Rgb(30, 30, 46))"),
        ("\x1b]11;rgba:0000/0000/0000/ffff\x07", "Background(Rgb(0, 0, 0))"),
        ("\x1b]4;15;rgb:ff/ff/ff\x07", "Palette(15, Rgb(255, 255, 255))"),
        ("\x1b]4;300;rgb:ff/ff/ff\x07", ""),
        ("\x1b]11;red\x07", ""),
        ("\x1b[6;18;9t", "CellSize { width: 9, height: 18 }"),
        ("\x1b[8;24;80t", ""),
        ("\x1b[?997;1n", "ColorScheme(Dark)"),
        ("\x1b[?997;2n", "ColorScheme(Light)"),
        ("\x1b]7501;1\x1b\\", "ProgramStatus"),
        ("\x1bP>|ghostty 1.2\x1b\\", "TerminalVersion(\"ghostty 1.2\")"),
        ("\x1b]52;c;aGk=\x07", "Clipboard([104, 105])"),
        ("\x1b]52;c;***\x07", ""),
        ("\x1b[?2026;2$y", ""),
        ("\x1b_Gi=1;OK\x1b\\x", "x=x"),
        ("\x1bP1$r0m\x1b\\x", "x=x"),
        ("\x1b]lname\x1b\\x", "x=x"),
        ("\x1b[99;1;2zx", "x=x"),
        ("\x1b[=5hx", "x=x"),
        ("\x1b[99999999999999999999~x", "x=x"),
        ("\x1b[1;2;3;4;5;6;7;8!px", "x=x"),
        // A control character ends a string that has no end.
        ("\x1b]11;rgb\x03x", "ctrl+c | x=x"),
        ("\x1b]11;rgb\x1b[A", "up"),
        ("\x1b[1;5\r", "enter"),
    ];
    for (bytes, expected) in table {
        assert_eq!(short(&decode(bytes.as_bytes())), *expected, "{bytes:?}");
    }
}

#[test]
fn timeouts_and_late_bytes() {
    let escape = Some(Timing::LOCAL.escape);
    let sequence = Some(Timing::LOCAL.sequence);
    let table: &[(&[&str], Option<std::time::Duration>, &str)] = &[
        (&["a"], None, "a=a"),
        (&["\x1b"], escape, "escape"),
        (&["\x1b["], sequence, "alt+["),
        (&["\x1b]"], sequence, "alt+]"),
        (&["\x1b]11;rg"], None, ""),
        (&["\x1b]11;rgb:0/0/0\x1b"], None, ""),
        (&["\x1b[?6"], None, ""),
        (&["\x1b[<3"], None, ""),
        (&["\x1bP>|x"], None, ""),
        (&["\x1b]x"], sequence, ""),
        (&["\x1b[200~x"], None, ""),
        (&["\x1b[M "], sequence, ""),
        (&["é"], None, "é=é"),
        (&["\x1b[?7u\x1b"], sequence, "KittyFlags(7) | escape"),
        // A pause within a sequence: keys that were reported stay, its rest is not text.
        (&["\x1b", "x"], None, "escape | x=x"),
        (&["\x1b", "["], escape, "escape | [=["),
        (&["\x1b", "[A"], None, "escape | [=[ | shift+a=A"),
        (&["\x1b", "[?62c"], None, "escape | PrimaryAttributes([62])"),
        (&["\x1b", "[<0;1;1M"], None, "escape | space Press(Left) 0,0"),
        (&["\x1b[", "?62c"], None, "alt+[ | PrimaryAttributes([62])"),
        (&["\x1b]", "11;rgb:0/0/0\x07x"], None, "alt+] | Background(Rgb(0, 0, 0)) | x=x"),
        (&["\x1b", "]4;1;rgb:0/0/0\x07"], None, "escape | Palette(1, Rgb(0, 0, 0))"),
        (&["\x1b", "[200~x\x1b[201~"], None, "escape | paste \"x\""),
        (&["\x1b", "\x1b[A"], None, "escape | up"),
        (&["\x1b", "\x1b"], escape, "escape | escape"),
        (&["\x1b]11;rg", "b:0/0/0\x07"], None, "Background(Rgb(0, 0, 0))"),
        (&["\x1b[1;", "5A"], None, "ctrl+up"),
    ];
    for (reads, timeout, expected) in table {
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        let mut last = None;
        for read in *reads {
            decoder.push(read.as_bytes(), &mut events);
            last = decoder.timeout();
            decoder.flush(&mut events);
        }
        assert_eq!((last, short(&events).as_str()), (*timeout, *expected), "{reads:?}");
    }
}

#[test]
fn backspace_is_the_key_that_erases() {
    for (erase, bytes, expected) in [
        (0x7f, "\x7f\x08", "backspace | ctrl+backspace"),
        (0x08, "\x7f\x08", "ctrl+backspace | backspace"),
        (0x00, "\x7f\x08", "backspace | ctrl+backspace"),
    ] {
        let mut decoder = Decoder::default();
        decoder.set_erase(erase);
        let mut events = Vec::new();
        decoder.push(bytes.as_bytes(), &mut events);
        assert_eq!(short(&events), expected, "{erase}");
    }
}

#[test]
fn memory_is_bounded() {
    for opener in ["\x1b]11;", "\x1bP>|", "\x1b_G", "\x1b["] {
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        decoder.push(opener.as_bytes(), &mut events);
        for _ in 0..600 {
            decoder.push(&[b'1'; 10_000], &mut events);
        }
        assert!(decoder.pending_bytes() <= 4 << 20, "{opener:?}");
        decoder.push(b"\x03", &mut events);
        assert_eq!(short(&events), "ctrl+c", "{opener:?}");
        assert_eq!(decoder.pending_bytes(), 0);
    }
}

#[test]
fn a_huge_paste_comes_in_parts_at_characters() {
    let mut decoder = Decoder::default();
    decoder.limit_paste(10);
    let mut events = Vec::new();
    let text = "aäöüß€".repeat(7);
    for byte in format!("\x1b[200~{text}\x1b[201~").bytes() {
        decoder.push(&[byte], &mut events);
    }
    let parts: Vec<&str> = events
        .iter()
        .map(|event| match event {
            Event::Input(Input::Paste(text)) => text.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(parts.concat(), text);
    assert!(parts.len() > 5 && parts.iter().all(|part| part.len() <= 10), "{parts:?}");
}

#[test]
fn names_of_keys() {
    for (name, expected) in [
        ("ctrl+shift+P", "shift+ctrl+p"),
        ("shift+l", "shift+l"),
        ("Esc", "escape"),
        ("return", "enter"),
        ("PAGEUP", "pageUp"),
        ("ctrl+-", "ctrl+-"),
        ("ctrl+_", "ctrl+-"),
        ("ctrl++", "ctrl++"),
        ("+", "+"),
        ("ctrl+@", "ctrl+space"),
        ("super+alt+f12", "alt+super+f12"),
        (" ", ""),
        ("", ""),
        ("ctrl+", ""),
        ("hyper+x", ""),
        ("f0", ""),
        ("f99", ""),
        ("xy", ""),
    ] {
        let id = name.parse::<KeyId>().map(|id| id.to_string()).unwrap_or_default();
        assert_eq!(id, expected, "{name:?}");
    }
    assert!(Key::typed('L').is("shift+l"));
    assert!(!Key::typed('l').is("shift+l"));
}

#[test]
fn default_keys_are_valid_and_differ_by_platform() {
    for platform in [Platform::Unix, Platform::Windows, Platform::Wsl] {
        for (action, keys) in defaults::tables(platform).iter().copied().flatten() {
            for key in *keys {
                assert!(key.parse::<KeyId>().is_ok(), "{action}: {key}");
            }
        }
    }
    for (platform, undo, search, previous) in [
        (Platform::Unix, "ctrl+-", "shift+ctrl+f", "shift+ctrl+up/ctrl+up"),
        (Platform::Windows, "ctrl+z", "ctrl+f", "ctrl+up"),
        (Platform::Wsl, "alt+z", "ctrl+f", "ctrl+up"),
    ] {
        let keymap = Keymap::with_defaults(platform, &[]);
        assert_eq!(keymap.label("tui.editor.undo"), undo);
        assert_eq!(keymap.label("tui.altScreen.search"), search);
        assert_eq!(keymap.label("tui.altScreen.previousPrompt"), previous);
    }
}

#[test]
fn keybindings_files() {
    let own: &[Binding] = &[("app.tools.expand", &["ctrl+o"])];
    let mut keymap = Keymap::with_defaults(Platform::Unix, &[own]);
    keymap.rename(&[("expandTools", "app.tools.expand")]);
    let problems = keymap.apply(&json!({
        "$schema": "https://example.org/keybindings.json",
        "tui.editor.undo": ["ctrl+z", "ctrl+z"],
        "tui.editor.yank": [],
        "cursorUp": "ctrl+p",
        "selectUp": ["k", "up"],
        "expandTools": "ctrl+e",
        "later.extension": "ctrl+1",
        "tui.editor.cursorDown": "ctrl+nonsense",
        "tui.editor.cursorLeft": ["wrong", "alt+h"],
        "tui.editor.cursorRight": 7,
        "tui.editor.cursorLineEnd": ["end", null],
    }));
    for (action, keys) in [
        ("tui.editor.undo", "ctrl+z"),
        ("tui.editor.yank", ""),
        ("tui.editor.cursorUp", "ctrl+p"),
        ("tui.select.up", "k/up"),
        ("app.tools.expand", "ctrl+e"),
        ("later.extension", "ctrl+1"),
        ("tui.editor.cursorDown", "down"),
        ("tui.editor.cursorLeft", "alt+h"),
        ("tui.editor.cursorRight", "right/ctrl+f"),
        ("tui.editor.cursorLineEnd", "end/ctrl+e"),
    ] {
        assert_eq!(keymap.label(action), keys, "{action}");
    }
    let mut problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    problems.sort();
    assert_eq!(
        problems,
        [
            "`tui.editor.cursorDown`: `ctrl+nonsense` is not a key; write it like `ctrl+shift+up`",
            "`tui.editor.cursorLeft`: `wrong` is not a key; write it like `ctrl+shift+up`",
            "`tui.editor.cursorLineEnd`: expected a key like \"ctrl+x\" or a list of keys",
            "`tui.editor.cursorRight`: expected a key like \"ctrl+x\" or a list of keys",
        ]
    );
    assert_eq!(keymap.apply(&json!([])), [Problem::NotAnObject]);
    // The present name wins, in either order.
    for file in [
        json!({"cursorUp": "f1", "tui.editor.cursorUp": "f2"}),
        json!({"tui.editor.cursorUp": "f2", "cursorUp": "f1"}),
    ] {
        keymap.apply(&file);
        assert_eq!(keymap.label("tui.editor.cursorUp"), "f2");
    }
}

/// Pieces of real input and of garbage.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "\x1b", "\x1b[", "\x1bO", "\x1b]", "\x1bP", "\x1b_", "\x1b[A", "\x1b[1;5C", "\x1b[97;5u",
            "\x1b[97u", "a", "é", "👨‍👩‍👧", "\r", "\n", "\x7f", "\x03", "\x07", "\x1b\\", "~", ";", ":", "5",
            "\x1b[200~", "\x1b[201~", "\x1b[20", "1~", "\x1b[<0;1;", "M", "\x1b[M !", "\x1b[I",
            "\x1b]11;rgb:0/0/0\x07", "\x1b]10;rgb:", "\x1b[?7u", "\x1b[?62", "c", "\x1b[[", "$", "[?1",
        ]).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 1..4),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn cuts_do_not_matter(bytes in bytes(), cuts in prop::collection::vec(1usize..9, 1..40)) {
        let mut whole = (Decoder::default(), Vec::new());
        whole.0.push(&bytes, &mut whole.1);
        let mut cut = (Decoder::default(), Vec::new());
        let mut rest = bytes.as_slice();
        for length in cuts.iter().cycle() {
            let (now, later) = rest.split_at((*length).min(rest.len()));
            cut.0.push(now, &mut cut.1);
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(whole.0.timeout(), cut.0.timeout());
        whole.0.flush(&mut whole.1);
        cut.0.flush(&mut cut.1);
        prop_assert_eq!(&whole.1, &cut.1);
        // Control characters are never text.
        for event in &whole.1 {
            if let Event::Input(Input::Key(Key { text: Some(text), .. })) = event {
                prop_assert!(!text.contains(char::is_control), "{:?}", text);
            }
        }
    }
}

#[test]
fn input_keeps_what_the_terminal_sent() {
    let sequences = [
        "a",
        "É",
        "\r",
        "\u{1b}",
        "\u{1}",
        "\u{7f}",
        "\u{1b}a",
        "\u{1b}é",
        "\u{1b}[A",
        "\u{1b}[1;5A",
        "\u{1b}[3~",
        "\u{1b}[97;5u",
        "\u{1b}[Z",
        "\u{1b}OP",
        "\u{1b}\u{1b}[A",
        "\u{1b}[[A",
        "\u{1b}[200~a\nb\u{1b}[201~",
        "\u{1b}[I",
    ];
    for data in sequences {
        let inputs = Input::decode(data);
        let sent: Vec<_> = inputs.iter().filter_map(Input::sent).collect();
        assert_eq!(sent, [data], "{inputs:?}");
    }
}

#[test]
fn text_of_input_methods_is_sent_as_text() {
    let text = "漢字かな交じり";
    let points: Vec<String> = text.chars().map(|one| u32::from(one).to_string()).collect();
    let inputs = Input::decode(&format!("\u{1b}[0;;{}u", points.join(":")));
    let sent: Vec<_> = inputs.iter().filter_map(Input::sent).collect();
    assert_eq!(sent, [text]);
}
