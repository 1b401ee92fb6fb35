//! String literals that arrive in chunks, with escape sequences cut anywhere.

use crate::json::hex4;

/// Continues a string literal. Returns true once its closing quote has been read.
pub(super) fn read_string(text: &mut String, escape: &mut String, input: &mut &str) -> bool {
    while !input.is_empty() {
        if !escape.is_empty() {
            let mut chars = input.chars();
            let Some(next) = chars.next() else { return false };
            *input = chars.as_str();
            escape.push(next);
            resolve_escape(text, escape);
            continue;
        }
        let end = input.bytes().position(|byte| matches!(byte, b'"' | b'\\'));
        let (run, rest) = input.split_at(end.unwrap_or(input.len()));
        text.push_str(run);
        *input = rest;
        let Some(byte) = rest.bytes().next() else { return false };
        *input = &rest[1..];
        if byte == b'"' {
            return true;
        }
        escape.push('\\');
    }
    false
}

/// Appends the character of a complete escape sequence and clears `escape`; leaves an incomplete
/// sequence. An invalid sequence is appended as it is.
fn resolve_escape(text: &mut String, escape: &mut String) {
    let bytes = escape.as_bytes();
    let simple = match bytes.get(1) {
        Some(b'"') => Some('"'),
        Some(b'\\') => Some('\\'),
        Some(b'/') => Some('/'),
        Some(b'b') => Some('\u{8}'),
        Some(b'f') => Some('\u{c}'),
        Some(b'n') => Some('\n'),
        Some(b'r') => Some('\r'),
        Some(b't') => Some('\t'),
        Some(b'u') => return resolve_unicode(text, escape),
        _ => None,
    };
    match simple {
        Some(char) => text.push(char),
        None => text.push_str(escape),
    }
    escape.clear();
}

fn resolve_unicode(text: &mut String, escape: &mut String) {
    let bytes = escape.as_bytes();
    let digits = &bytes[2..bytes.len().min(6)];
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        text.push_str(escape);
        escape.clear();
        return;
    }
    let Some(first) = hex4(&bytes[2..]) else { return };
    if !(0xd800..=0xdbff).contains(&first) {
        // A low surrogate without its partner is dropped: `from_u32` returns `None` for it.
        text.extend(char::from_u32(u32::from(first)));
        escape.clear();
        return;
    }
    // A high surrogate waits for `\uXXXX`; anything else means that it stood alone.
    let partner = &bytes[6..];
    match partner {
        [] | [b'\\'] | [b'\\', b'u'] => {}
        [b'\\', b'u', digits @ ..] if digits.iter().all(u8::is_ascii_hexdigit) => {
            let Some(second) = hex4(digits) else { return };
            text.extend(char::decode_utf16([first, second]).filter_map(Result::ok));
            escape.clear();
        }
        [b'\\', ..] => {
            let rest = escape.split_off(6);
            *escape = rest;
            resolve_escape(text, escape);
        }
        _ => {
            text.push_str(&escape[6..]);
            escape.clear();
        }
    }
}
