//! Escaping of text for every place in a page.
//!
//! The content of a session comes from models, tools and web pages. None of it may become markup,
//! and characters that are invisible or reorder text (control characters, bidirectional overrides)
//! are made visible.

use std::fmt::Write as _;

/// Appends text for an element or a quoted attribute.
pub(super) fn text(out: &mut String, text: &str) {
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        if !SPECIAL[byte as usize] {
            continue;
        }
        // A special byte is always the first byte of a character.
        let Some(character) = text[at..].chars().next() else { break };
        if byte == 0xe2 && !is_direction(character) {
            continue;
        }
        out.push_str(&text[from..at]);
        from = at + character.len_utf8();
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => visible(out, other),
        }
    }
    out.push_str(&text[from..]);
}

/// Appends a character, or a visible replacement for an invisible one.
fn visible(out: &mut String, character: char) {
    match character {
        '\0'..='\x1f' => out.extend(char::from_u32(0x2400 + character as u32)),
        '\x7f' => out.push('\u{2421}'),
        _ if is_direction(character) => drop(write!(out, "[U+{:04X}]", character as u32)),
        _ => out.push(character),
    }
}

/// The first bytes of characters that [`text`] may change.
const SPECIAL: [bool; 256] = {
    let mut special = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        special[byte] = !matches!(byte as u8, b'\t' | b'\n' | b'\r');
        byte += 1;
    }
    special[b'&' as usize] = true;
    special[b'<' as usize] = true;
    special[b'>' as usize] = true;
    special[b'"' as usize] = true;
    special[b'\'' as usize] = true;
    special[0x7f] = true;
    special[0xe2] = true;
    special
};

/// Returns true for embeddings, overrides and isolates, which reorder the text after them.
fn is_direction(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Appends a JSON string that is safe inside a `<script>` element.
pub(super) fn json(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\t' | '\n' | '\r' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", character as u32);
            }
            character => visible(out, character),
        }
    }
    out.push('"');
}

/// Returns true if a page may link to this URL.
pub(super) fn is_link(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once(':') else { return false };
    let known = ["http", "https", "mailto"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    known && !rest.is_empty() && !url.contains(|c: char| c.is_control() || is_direction(c))
}

/// Returns true if an image may be embedded: in a format that every browser supports and that
/// cannot contain a script, and in base64 that cannot end its attribute.
pub(super) fn is_image(mime_type: &str, data: &str) -> bool {
    let known = ["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&mime_type);
    let body = data.trim_end_matches('=');
    known
        && !body.is_empty()
        && data.len().is_multiple_of(4)
        && data.len() - body.len() <= 2
        && body.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

/// Returns the first line that is not blank, in at most `limit` characters.
pub(super) fn first_line(text: &str, limit: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    shorten(line, limit)
}

/// Returns the text as one line of at most `limit` characters.
pub(super) fn one_line(text: &str, limit: usize) -> String {
    // Cut first, since a command may be as long as a file.
    let beginning: String = text.chars().take(limit.saturating_mul(4)).collect();
    let line = beginning.split_whitespace().collect::<Vec<_>>().join(" ");
    let short = shorten(&line, limit);
    let cut = beginning.len() < text.len() && !short.ends_with('…');
    if cut { short + "…" } else { short }
}

/// Cuts a line to at most `limit` characters.
pub(super) fn shorten(line: &str, limit: usize) -> String {
    match line.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line.to_owned(),
    }
}
