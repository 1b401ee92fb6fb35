//! Private keys in PEM armor, `-----BEGIN … PRIVATE KEY-----` to `-----END …`: whole blocks, and
//! the rest of a block that was cut off at either end. Lines may have the prefixes of a listing or
//! a diff, and line ends may be escaped.

use std::ops::Range;

use super::Span;

const KIND: &str = "private-key";

/// Adds the blocks of private keys in the text.
pub(super) fn find(text: &str, spans: &mut Vec<Span>) {
    let bytes = text.as_bytes();
    let mut done = 0;
    while let Some(found) = memchr::memmem::find(&bytes[done..], b"-----") {
        let at = done + found;
        let Some(line) = armor(text, at) else {
            done = at + 1;
            continue;
        };
        if !line.private {
            done = line.place.end;
            continue;
        }
        let (start, mut end) = if line.begins {
            (at, body_after(bytes, line.place.end))
        } else {
            (body_before(bytes, done, at), line.place.end)
        };
        if line.begins
            && let Some(last) = armor(text, end).filter(|last| !last.begins)
        {
            end = last.place.end;
        }
        spans.push(Span { start, end, kind: KIND });
        done = end;
    }
}

/// A line of armor.
struct Armor {
    place: Range<usize>,
    begins: bool,
    private: bool,
}

/// Returns the line of armor at `at`.
fn armor(text: &str, at: usize) -> Option<Armor> {
    let rest = text.get(at..)?.strip_prefix("-----")?;
    let (begins, rest) = match rest.strip_prefix("BEGIN ") {
        Some(rest) => (true, rest),
        None => (false, rest.strip_prefix("END ")?),
    };
    let long = rest.bytes().take(60).take_while(|b| b.is_ascii_uppercase() || *b == b' ').count();
    let label = &rest[..long];
    rest[long..].starts_with("-----").then(|| {
        let start = if begins { at + 11 } else { at + 9 };
        Armor {
            place: at..start + long + 5,
            begins,
            private: label.ends_with("PRIVATE KEY") || label.ends_with("PRIVATE KEY BLOCK"),
        }
    })
}

/// Returns the end of the lines that can belong to the key, before the next armor.
fn body_after(bytes: &[u8], begin: usize) -> usize {
    let mut at = begin;
    loop {
        let next = at + line_end(&bytes[at..]);
        let line = next + before_line(&bytes[next..]);
        if bytes[line..].starts_with(b"-----") {
            return line;
        }
        let long = body(&bytes[line..]);
        if long == 0 || (next == at && at != begin) {
            return at;
        }
        at = line + long;
    }
}

/// Returns the length of the line ends, plain or escaped, at the beginning of `bytes`.
fn line_end(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        match &bytes[at..] {
            [b'\r' | b'\n', ..] => at += 1,
            [b'\\', b'\\', b'n' | b'r', ..] => at += 3,
            [b'\\', b'n' | b'r', ..] => at += 2,
            _ => return at,
        }
    }
}

/// Returns the length of the prefix of a listing or diff: spaces, a sign, a number.
fn before_line(bytes: &[u8]) -> usize {
    let skip = |at: usize, has: fn(&u8) -> bool| {
        at + bytes[at..].iter().take(12).take_while(|byte| has(byte)).count()
    };
    let space = skip(0, |byte| matches!(byte, b' ' | b'\t'));
    let digits = skip(space, u8::is_ascii_digit);
    let after_number = skip(digits, |byte| matches!(byte, b':' | b'|' | b' ' | b'\t'));
    if digits > space && after_number > digits {
        return after_number;
    }
    match bytes.get(space) {
        Some(b'>' | b'|') => skip(space + 1, |byte| matches!(byte, b' ' | b'\t')),
        // Both also occur in base64 and in armor: a sign of a diff only if a letter follows.
        Some(b'+' | b'-') if bytes.get(space + 1).is_some_and(u8::is_ascii_alphanumeric) => {
            space + 1
        }
        _ if bytes[space..].starts_with(b"------") => space + 1,
        _ => space,
    }
}

/// Returns the length of a line of a key or of a header before it.
fn body(bytes: &[u8]) -> usize {
    let base64 = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let long = bytes.iter().take_while(base64).count();
    // `Proc-Type: 4,ENCRYPTED`, `DEK-Info: …`, `Version: …`, `Comment: …`
    let name = bytes.iter().take(24).take_while(|b| b.is_ascii_alphabetic() || **b == b'-').count();
    if name > 3 && bytes[name..].starts_with(b": ") {
        return bytes
            .iter()
            .take_while(|byte| !matches!(byte, b'\n' | b'\r' | b'\\' | b'"'))
            .count();
    }
    // Words with spaces between them are prose after a key that was cut off.
    if bytes.get(long) == Some(&b' ') && bytes.get(long + 1).is_some_and(u8::is_ascii_alphanumeric)
    {
        return 0;
    }
    long
}

/// Returns the beginning of the key that ends at `end`, not before `least`.
fn body_before(bytes: &[u8], least: usize, end: usize) -> usize {
    let mut start = end;
    while start > least {
        let line = bytes[least..start].iter().rposition(|byte| matches!(byte, b'\n' | b'\r'));
        let begin = match line {
            Some(at) if least + at + 1 == start => {
                start = least + at;
                continue;
            }
            Some(at) => least + at + 1,
            None => least,
        };
        let from = begin + before_line(&bytes[begin..start]);
        let fits = |byte: &u8| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'\\' | b'\r')
        };
        // A line of a key is long, but the first and the last one may be short.
        let is_body = from <= start
            && bytes[from..start].iter().all(fits)
            && (start - from >= 16 || begin == least || bytes[from..start].ends_with(b"="));
        if !is_body {
            // The whole key on one line, with escaped line ends.
            let tail = bytes[begin..start].iter().rev().take_while(|byte| fits(byte)).count();
            return if tail >= 16 { start - tail } else { start };
        }
        start = begin;
    }
    start
}
