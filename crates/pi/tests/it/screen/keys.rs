//! The bytes that a terminal sends for a key, by the name that pi uses: `ctrl+o`, `alt+up`.

/// Returns the bytes of a key. With `kitty`, as terminals with that protocol send them; without it,
/// the classic bytes, and the form of `modifyOtherKeys` for keys that have none.
pub(crate) fn bytes(name: &str, kitty: bool) -> Option<Vec<u8>> {
    let mut parts: Vec<&str> = name.split('+').collect();
    let key = parts.pop()?;
    let (mut shift, mut alt, mut ctrl) = (false, false, false);
    for part in parts {
        match part {
            "shift" => shift = true,
            "alt" => alt = true,
            "ctrl" => ctrl = true,
            _ => return None,
        }
    }
    let modifiers = 1 + u8::from(shift) + 2 * u8::from(alt) + 4 * u8::from(ctrl);
    if let Some(letter) = cursor_key(key) {
        return Some(
            match modifiers {
                1 => format!("\x1b[{letter}"),
                _ => format!("\x1b[1;{modifiers}{letter}"),
            }
            .into_bytes(),
        );
    }
    if let Some(number) = numbered_key(key) {
        return Some(
            match modifiers {
                1 => format!("\x1b[{number}~"),
                _ => format!("\x1b[{number};{modifiers}~"),
            }
            .into_bytes(),
        );
    }
    let code = match key {
        "escape" => '\x1b',
        "enter" => '\r',
        "tab" => '\t',
        "backspace" => '\x7f',
        "space" => ' ',
        _ => {
            let mut characters = key.chars();
            let first = characters.next()?;
            if characters.next().is_some() {
                return None;
            }
            first
        }
    };
    Some(if kitty { kitty_key(code, modifiers) } else { classic_key(code, modifiers) })
}

fn cursor_key(key: &str) -> Option<char> {
    let keys =
        [("up", 'A'), ("down", 'B'), ("right", 'C'), ("left", 'D'), ("home", 'H'), ("end", 'F')];
    keys.into_iter().find(|(name, _)| *name == key).map(|(_, letter)| letter)
}

fn numbered_key(key: &str) -> Option<u8> {
    let keys = [("insert", 2), ("delete", 3), ("pageUp", 5), ("pageDown", 6)];
    keys.into_iter().find(|(name, _)| *name == key).map(|(_, number)| number)
}

fn kitty_key(code: char, modifiers: u8) -> Vec<u8> {
    let classic = matches!(code, '\r' | '\t' | '\x7f') || !code.is_control();
    match modifiers {
        1 if classic => code.to_string().into_bytes(),
        1 => format!("\x1b[{}u", u32::from(code)).into_bytes(),
        2 if !code.is_control() => code.to_uppercase().to_string().into_bytes(),
        _ => format!("\x1b[{};{modifiers}u", u32::from(code)).into_bytes(),
    }
}

fn classic_key(code: char, modifiers: u8) -> Vec<u8> {
    let bits = modifiers - 1;
    let (shift, alt, ctrl) = (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0);
    let other = || format!("\x1b[27;{modifiers};{}~", u32::from(code)).into_bytes();
    let byte = match (code, ctrl, shift) {
        ('\t', false, true) => return b"\x1b[Z".to_vec(),
        (_, false, false) => code.to_string().into_bytes(),
        (_, false, true) if !code.is_control() => code.to_uppercase().to_string().into_bytes(),
        ('a'..='z' | ']' | '[' | '\\', true, false) => vec![code as u8 & 0x1f],
        ('-', true, false) => vec![0x1f],
        _ => return other(),
    };
    if alt { [b"\x1b", byte.as_slice()].concat() } else { byte }
}

#[test]
fn keys_have_the_bytes_of_terminals() {
    let cases: &[(&str, &str, &str)] = &[
        ("a", "a", "a"),
        ("shift+l", "L", "L"),
        ("enter", "\r", "\r"),
        ("escape", "\x1b", "\x1b[27u"),
        ("ctrl+c", "\x03", "\x1b[99;5u"),
        ("ctrl+]", "\x1d", "\x1b[93;5u"),
        ("alt+up", "\x1b[1;3A", "\x1b[1;3A"),
        ("up", "\x1b[A", "\x1b[A"),
        ("pageDown", "\x1b[6~", "\x1b[6~"),
        ("alt+enter", "\x1b\r", "\x1b[13;3u"),
        ("shift+enter", "\x1b[27;2;13~", "\x1b[13;2u"),
        ("shift+tab", "\x1b[Z", "\x1b[9;2u"),
        ("ctrl+shift+f", "\x1b[27;6;102~", "\x1b[102;6u"),
    ];
    for (name, classic, kitty) in cases {
        assert_eq!(bytes(name, false).unwrap(), classic.as_bytes(), "{name}");
        assert_eq!(bytes(name, true).unwrap(), kitty.as_bytes(), "{name}");
    }
    assert_eq!(bytes("hyper+x", false), None);
    assert_eq!(bytes("nokey", false), None);
}
