//! Escaping of text for every place in a page.
//!
//! The content of a session comes from models, tools and web pages. None of it may become markup,
//! and invisible characters are made visible.

use std::fmt::Write as _;

use pi_base::text::{is_invisible, is_shown};

/// Appends text for an element or a quoted attribute.
pub(super) fn text(out: &mut String, text: &str) {
    let mut before = None;
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(character),
            other => visible(out, before, other),
        }
        before = Some(character);
    }
}

/// Appends a character, or a visible replacement for an invisible one.
fn visible(out: &mut String, before: Option<char>, character: char) {
    match character {
        '\0'..='\x1f' => out.extend(char::from_u32(0x2400 + character as u32)),
        '\x7f' => out.push('\u{2421}'),
        _ if is_shown(before, character) => out.push(character),
        _ => drop(write!(out, "[U+{:04X}]", character as u32)),
    }
}

/// Appends a JSON string that is safe inside a `<script>` element.
pub(super) fn json(out: &mut String, text: &str) {
    out.push('"');
    let mut before = None;
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\t' | '\n' | '\r' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", character as u32);
            }
            character => visible(out, before, character),
        }
        before = Some(character);
    }
    out.push('"');
}

/// Returns true if a page may link to this URL.
pub(super) fn is_link(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once(':') else { return false };
    let known = ["http", "https", "mailto"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    known && !rest.is_empty() && !url.contains(is_invisible)
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
