//! Untrusted text: texts of models, tools, servers and files that a person reads.
//!
//! A terminal, an editor or a page obeys some characters, hides others, and lets some change the
//! order of their neighbors. This file has the one table of them. Texts are cleaned where they leave
//! the program; where a person decides about a text (an approval), it is spelled out instead.

use std::borrow::Cow;

/// A character without width, which separates a sign of a server from the name or number behind it.
pub const ZERO_WIDTH_SPACE: char = '\u{200b}';

/// Returns true for characters without an appearance of their own: control characters (line breaks
/// and tabs are among them), controls of text direction, joiners, variation selectors, fillers, and
/// the tags that spell ASCII invisibly.
pub const fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\0'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Returns true if a character may be written after another one. Joiners and variation selectors
/// are part of emoji and of letters in several scripts: one of each may follow a character that they
/// can change. Anywhere else, and in rows, they only hide data.
pub fn is_shown(before: Option<char>, character: char) -> bool {
    if character.is_ascii() {
        return !character.is_ascii_control();
    }
    let can_vary = |base: char| !base.is_ascii() && !is_invisible(base);
    match character {
        '\u{200c}'..='\u{200d}' => before.is_some_and(|it| can_vary(it) || it == '\u{fe0f}'),
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => {
            before.is_some_and(|it| can_vary(it) || matches!(it, '0'..='9' | '#' | '*'))
        }
        character => !is_invisible(character),
    }
}

/// Returns true if every character of a text may be written where it is. `before` is the character
/// in front of the text.
pub fn is_clean(mut before: Option<char>, text: &str) -> bool {
    text.chars().all(|character| is_shown(before.replace(character), character))
}

/// Returns a text without invisible characters. Line breaks and tabs stay.
pub fn clean(text: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| matches!(byte, b'\n' | b'\t' | b' '..=b'~');
    if text.bytes().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(text.len());
    Cleaner::default().push(text, &mut cleaned);
    Cow::Owned(cleaned)
}

/// Removes invisible characters from a text that arrives in pieces. Line breaks and tabs stay.
#[derive(Debug, Default)]
pub struct Cleaner {
    before: Option<char>,
}

impl Cleaner {
    /// Appends the next piece of the text.
    pub fn push(&mut self, piece: &str, out: &mut String) {
        for character in piece.chars() {
            if matches!(character, '\n' | '\t') || is_shown(self.before, character) {
                out.push(character);
                self.before = Some(character);
            }
        }
    }
}

/// Returns a text as one line: without invisible characters, and with one space for each run of
/// white space.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    let mut before = None;
    let mut is_after_space = false;
    for character in text.chars() {
        if character.is_whitespace() {
            is_after_space = true;
            before = None;
        } else if is_shown(before, character) {
            if std::mem::take(&mut is_after_space) && !line.is_empty() {
                line.push(' ');
            }
            line.push(character);
            before = Some(character);
        }
    }
    line
}

/// Returns a text as one line of at most `width` characters.
pub fn line(text: &str, width: usize) -> String {
    let line = one_line(text);
    if line.chars().nth(width).is_none() {
        return line;
    }
    cut(&line, width.saturating_sub(1)).into_owned()
}

/// Returns the first `limit` characters of a text, with an ellipsis if there are more.
pub fn cut(text: &str, limit: usize) -> Cow<'_, str> {
    match text.char_indices().nth(limit) {
        Some((end, _)) => ellipsis(text, end),
        None => Cow::Borrowed(text),
    }
}

/// Returns at most `limit` bytes of a text, with an ellipsis if there are more.
pub fn cut_bytes(text: &str, limit: usize) -> Cow<'_, str> {
    match text.floor_char_boundary(limit) {
        end if end < text.len() => ellipsis(text, end),
        _ => Cow::Borrowed(text),
    }
}

fn ellipsis(text: &str, end: usize) -> Cow<'_, str> {
    Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default()))
}

/// Returns what stands for a character in a text that is shown exactly: `^[`, `\u{202e}`. `None` for
/// characters that are shown as themselves. Blanks that are no space are spelled out as well.
pub fn spelled(character: char) -> Option<String> {
    match character {
        '\u{7f}' => Some("^?".to_owned()),
        '\0'..='\u{1f}' => {
            char::from_u32(character as u32 + 0x40).map(|letter| format!("^{letter}"))
        }
        ' ' | '\u{3000}' => None,
        '\u{2800}' => Some(escaped(character)),
        _ if character.is_whitespace() || is_invisible(character) => Some(escaped(character)),
        _ => None,
    }
}

fn escaped(character: char) -> String {
    format!("\\u{{{:x}}}", character as u32)
}

/// Returns a text with everything spelled out that is not shown as itself. Line breaks and tabs
/// stay.
pub fn exact(text: &str) -> String {
    let mut exact = String::with_capacity(text.len());
    for character in text.chars() {
        match spelled(character) {
            Some(spelled) if !matches!(character, '\n' | '\t') => exact.push_str(&spelled),
            _ => exact.push(character),
        }
    }
    exact
}

/// Returns a text without the byte-order mark at its beginning.
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Returns bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

/// Returns a number with commas between thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_removed() {
        let cases = [
            ("plain äöü 漢字 🦀\n\tx", "plain äöü 漢字 🦀\n\tx"),
            ("a\u{1b}[31mred \u{200b}zero\r\n\u{9b}x\u{7f}\0", "a[31mred zero\nx"),
            ("a\u{e0069}\u{e0067}b\u{202e}c\u{2066}d\u{feff}", "abcd"),
            ("x\u{3164}y\u{ffa0}\u{115f}z\u{ad}\u{2028}", "xyz"),
            // Joiners and selectors stay where they shape a character, once.
            (
                "❤\u{fe0f}\u{200d}🔥 👩\u{200d}👧 1\u{fe0f}\u{20e3}",
                "❤\u{fe0f}\u{200d}🔥 👩\u{200d}👧 1\u{fe0f}\u{20e3}",
            ),
            ("می\u{200c}خواهم", "می\u{200c}خواهم"),
            ("l\u{200d}s r\u{fe0f}m \u{200c}", "ls rm "),
            ("🙂\u{fe01}\u{fe02}\u{e0101}\u{200d}\u{200d}", "🙂\u{fe01}"),
        ];
        for (text, expected) in cases {
            assert_eq!(clean(text), expected, "{text:?}");
            let mut cleaner = Cleaner::default();
            let mut pieces = String::new();
            text.chars().for_each(|one| cleaner.push(one.encode_utf8(&mut [0; 4]), &mut pieces));
            assert_eq!(pieces, expected, "{text:?} in pieces");
            assert_eq!(is_clean(None, text), text == expected && !text.contains('\n'), "{text:?}");
        }
    }

    #[test]
    fn a_line_is_joined_and_cut() {
        let cases = [
            ("a\n b\u{1b}[0m", 10, "a b[0m"),
            (" one\u{200b} \u{200b} two\u{2029}", 10, "one two"),
            ("é \u{200d}x", 10, "é x"),
            ("abcdef", 4, "abc…"),
            ("äöü", 3, "äöü"),
            ("abc", 0, "…"),
        ];
        for (text, width, expected) in cases {
            assert_eq!(line(text, width), expected, "{text:?}");
        }
        assert_eq!((cut("äöü", 2), cut("äöü", 3)), ("äö…".into(), "äöü".into()));
        assert_eq!((cut_bytes("äöü", 5), cut_bytes("äöü", 6)), ("äö…".into(), "äöü".into()));
    }

    #[test]
    fn hostile_text_is_spelled_out() {
        let cases = [
            ("plain äöü 漢字 🦀\n", "plain äöü 漢字 🦀\n"),
            ("echo \u{1b}[2J\u{1b}]0;title\u{7}", "echo ^[[2J^[]0;title^G"),
            ("rm -rf ~\rls      ", "rm -rf ~^Mls      "),
            ("ls\u{8}\u{8}rm\0\u{7f}", "ls^H^Hrm^@^?"),
            ("a\u{9b}31mb", "a\\u{9b}31mb"),
            ("\u{202e}gpj.exe\u{202c}\u{2066}", "\\u{202e}gpj.exe\\u{202c}\\u{2066}"),
            ("r\u{200b}m \u{feff}x\u{a0}-rf", "r\\u{200b}m \\u{feff}x\\u{a0}-rf"),
            ("x\u{3164}y\u{2800}", "x\\u{3164}y\\u{2800}"),
            ("a\u{e0041}\u{e007f}🙂\u{fe0f}", "a\\u{e0041}\\u{e007f}🙂\\u{fe0f}"),
            ("a\u{200d}b\u{ad}", "a\\u{200d}b\\u{ad}"),
        ];
        for (text, shown) in cases {
            assert_eq!(exact(text), shown, "{text:?}");
        }
    }

    #[test]
    fn numbers_are_grouped() {
        let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")];
        assert!(cases.iter().all(|(number, text)| grouped(*number) == *text));
        assert_eq!(hex(&[0, 0xa5, 0xff]), "00a5ff");
    }
}
