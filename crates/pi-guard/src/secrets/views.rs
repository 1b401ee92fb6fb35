//! Views of a text in which a secret may show that its letters and digits in order do not show: what
//! a terminal shows, lines without their numbers, letters of other alphabets, binary digits.
//!
//! A view is a sequence of letters and digits with their places in the text. Each takes one pass.

/// A letter or digit of a view, in lower case, and its place in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Symbol {
    pub(super) byte: u8,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Binary digits in a row without anything in between that are worth decoding.
const LEAST_BITS: usize = 64;

/// Calls `emit` for every letter and digit.
pub(super) fn plain(text: &str, mut emit: impl FnMut(Symbol)) {
    for (at, byte) in text.bytes().enumerate() {
        if byte.is_ascii_alphanumeric() {
            emit(Symbol { byte: byte.to_ascii_lowercase(), start: at, end: at + 1 });
        }
    }
}

/// Returns true if [`tidied`] may differ from [`plain`].
pub(super) fn needs_tidying(text: &str) -> bool {
    text.bytes().any(|byte| matches!(byte, b'\n' | b'\x08' | b'\x1b') || byte >= 0xc2)
}

/// Calls `emit` for the letters and digits that a reader sees: without the sequences that control a
/// terminal, without characters that the next one overwrites, without the number or offset at the
/// beginning of a line, and with letters of other widths and styles as the usual ones.
pub(super) fn tidied(text: &str, mut emit: impl FnMut(Symbol)) {
    let mut rest = text;
    let mut is_line_start = true;
    while let Some(char) = rest.chars().next() {
        let start = text.len() - rest.len();
        if is_line_start {
            is_line_start = false;
            let number = number_length(rest);
            if number > 0 {
                rest = &rest[number..];
                continue;
            }
        }
        let after = &rest[char.len_utf8()..];
        rest = match char {
            '\x1b' => &after[sequence_length(after)..],
            '\n' => {
                is_line_start = true;
                after
            }
            // Overwritten.
            _ if char != '\x08' && after.starts_with('\x08') => &after[1..],
            _ => {
                if let Some(byte) = usual(char).filter(u8::is_ascii_alphanumeric) {
                    let end = start + char.len_utf8();
                    emit(Symbol { byte: byte.to_ascii_lowercase(), start, end });
                }
                after
            }
        };
    }
}

/// Calls `emit` for the letters and digits that groups of eight binary digits stand for. `shift` is
/// the number of digits before the first group of a long row.
pub(super) fn binary(text: &str, shift: usize, mut emit: impl FnMut(Symbol)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let row = bytes[at..].iter().take_while(|byte| matches!(byte, b'0' | b'1')).count();
        let (start, end) = (at, at + row);
        at = end.max(at + 1);
        // The offset in a dump.
        let is_offset = bytes.get(end) == Some(&b':');
        let is_word = bytes.get(end).is_some_and(u8::is_ascii_alphanumeric);
        let skipped = match row {
            8 if !is_offset && !is_word && shift == 0 => 0,
            LEAST_BITS.. => shift,
            _ => continue,
        };
        for (group, digits) in bytes[start + skipped..end].chunks_exact(8).enumerate() {
            let byte = digits.iter().fold(0, |byte, digit| byte << 1 | (digit & 1));
            let start = start + skipped + group * 8;
            if byte.is_ascii_alphanumeric() {
                emit(Symbol { byte: byte.to_ascii_lowercase(), start, end: start + 8 });
            }
        }
    }
}

/// Returns true if a text has binary digits that [`binary`] decodes: short groups, and long rows.
pub(super) fn binary_digits(text: &str) -> (bool, bool) {
    let (mut row, mut groups, mut long) = (0, 0, false);
    for byte in text.bytes() {
        match byte {
            b'0' | b'1' => row += 1,
            _ => {
                groups += usize::from(row == 8);
                row = 0;
            }
        }
        long |= row >= LEAST_BITS;
    }
    (groups + usize::from(row == 8) >= 8, long)
}

/// Returns the length of the number of a line with the blanks around it: `     1\t`, `12:`,
/// `0000020   `. It is 0 if nothing follows.
fn number_length(line: &str) -> usize {
    let bytes = line.as_bytes();
    let count = |from: usize, is: fn(&u8) -> bool| {
        bytes.get(from..).unwrap_or_default().iter().take_while(|byte| is(byte)).count()
    };
    let blanks = count(0, |byte| matches!(byte, b' ' | b'\t'));
    let decimal = count(blanks, u8::is_ascii_digit);
    let hexadecimal = count(blanks, u8::is_ascii_hexdigit);
    let digits = if hexadecimal >= 7 { hexadecimal } else { decimal };
    let end = blanks + digits;
    match bytes.get(end) {
        Some(b' ' | b'\t' | b':' | b')' | b'|' | b'.' | b'-') if digits > 0 => end + 1,
        _ => 0,
    }
}

/// Returns the length of the rest of an escape sequence.
fn sequence_length(after: &str) -> usize {
    let bytes = after.as_bytes();
    let ends = |is_end: fn(u8) -> bool| {
        let found = bytes.iter().skip(1).position(|byte| is_end(*byte));
        found.map_or(bytes.len(), |at| at + 2)
    };
    let length = match bytes.first() {
        Some(b'[') => ends(|byte| (0x40..=0x7e).contains(&byte)),
        // Titles and links end with a bell or another escape.
        Some(b']' | b'P' | b'^' | b'_') => ends(|byte| matches!(byte, 0x07 | 0x1b | b'\n')),
        Some(b'(' | b')' | b'#' | b' ') => 2,
        Some(byte) if byte.is_ascii() => 1,
        _ => 0,
    };
    after.floor_char_boundary(length.min(after.len()))
}

/// Returns the usual form of a letter or digit of another width or style.
fn usual(char: char) -> Option<u8> {
    let code = u32::from(char);
    let nth = |first: char, at: u32| u8::try_from(u32::from(first) + at).ok();
    let letter = |at: u32| if at < 26 { nth('A', at) } else { nth('a', at - 26) };
    match code {
        0..=0x7f => u8::try_from(code).ok(),
        0xff01..=0xff5e => nth('!', code - 0xff01),
        0x24b6..=0x24e9 => letter(code - 0x24b6),
        0x1d400..=0x1d6a3 => letter((code - 0x1d400) % 52),
        0x1d7ce..=0x1d7ff => nth('0', (code - 0x1d7ce) % 10),
        0x2080..=0x2089 => nth('0', code - 0x2080),
        _ => None,
    }
}
