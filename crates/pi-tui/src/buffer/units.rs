//! The units in which a caret moves: grapheme clusters and paste markers.
//!
//! A marker stands for a long pasted text. In a line it is a sequence of Unicode noncharacters,
//! which no other text contains because [`super::paste::clean`] removes them. So a marker can be
//! cut, pasted and restored like other text, and typed text never looks like one.

use unicode_segmentation::GraphemeCursor;

/// Begins a marker; four digits follow.
const MARK: char = '\u{FDD0}';
/// The digit 0 of the number in a marker; the other 15 follow it.
const ZERO: u32 = 0xFDE0;
/// Length of a marker in bytes.
pub(crate) const MARK_LEN: usize = 15;

/// Returns true for the characters that markers consist of.
pub(crate) fn is_reserved(character: char) -> bool {
    ('\u{FDD0}'..='\u{FDEF}').contains(&character)
}

/// Returns the marker with this number.
pub(crate) fn marker(id: u16) -> String {
    let digit = |shift: u32| char::from_u32(ZERO + (u32::from(id) >> shift & 15)).unwrap_or(MARK);
    [MARK, digit(12), digit(8), digit(4), digit(0)].iter().collect()
}

/// Returns the number of the marker that begins at this offset.
pub(crate) fn marker_at(line: &str, at: usize) -> Option<u16> {
    // All other text is passed over by its first byte.
    if *line.as_bytes().get(at)? != 0xEF {
        return None;
    }
    let mut characters = line.get(at..at + MARK_LEN)?.chars();
    if characters.next() != Some(MARK) {
        return None;
    }
    let mut id = 0;
    for character in characters {
        let digit = u32::from(character).checked_sub(ZERO).filter(|digit| *digit < 16)?;
        id = id << 4 | u16::try_from(digit).ok()?;
    }
    Some(id)
}

/// Returns the numbers of all markers in a text.
pub(crate) fn markers(text: &str) -> impl Iterator<Item = u16> {
    text.match_indices(MARK).filter_map(|(at, _)| marker_at(text, at))
}

/// Returns the end of the unit that begins at `at`.
pub(crate) fn next(line: &str, at: usize) -> usize {
    let bytes = line.as_bytes();
    match (bytes.get(at), bytes.get(at + 1)) {
        (None, _) => return line.len(),
        (Some(first), None) if first.is_ascii() => return at + 1,
        (Some(first), Some(second)) if first.is_ascii() && second.is_ascii() => return at + 1,
        _ => {}
    }
    let mut characters = line.get(at..).unwrap_or_default().chars();
    match (characters.next(), characters.next()) {
        (Some(first), second) if is_wide_letter(first) && second.is_none_or(is_wide_letter) => {
            return at + first.len_utf8();
        }
        _ => {}
    }
    if marker_at(line, at).is_some() {
        return at + MARK_LEN;
    }
    let mut cursor = GraphemeCursor::new(at, line.len(), true);
    cursor.next_boundary(line, 0).ok().flatten().unwrap_or(line.len())
}

/// Returns true for common characters of two columns that never form a cluster with each other:
/// kana and Han.
pub(crate) fn is_wide_letter(character: char) -> bool {
    matches!(
        character,
        '\u{3001}' | '\u{3002}' | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}'
            | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
    )
}

/// Returns the start of the unit that ends at `at`.
pub(crate) fn previous(line: &str, at: usize) -> usize {
    let bytes = line.as_bytes();
    let Some(last) = at.checked_sub(1).and_then(|last| bytes.get(last)) else { return 0 };
    if last.is_ascii() && (at == 1 || bytes.get(at - 2).is_some_and(u8::is_ascii)) {
        return at - 1;
    }
    if at >= MARK_LEN && marker_at(line, at - MARK_LEN).is_some() {
        return at - MARK_LEN;
    }
    let mut cursor = GraphemeCursor::new(at, line.len(), true);
    let start = cursor.prev_boundary(line, 0).ok().flatten().unwrap_or(0);
    // A combining character after a marker is a unit of its own.
    match line.get(start..at).and_then(|unit| unit.chars().next()) {
        Some(first) if is_reserved(first) && start + first.len_utf8() < at => {
            start + first.len_utf8()
        }
        _ => start,
    }
}

/// Returns the units of a line with their offsets.
pub(crate) fn units(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at;
        at = next(line, start);
        line.get(start..at).filter(|unit| !unit.is_empty()).map(|unit| (start, unit))
    })
}

/// The kind of a unit for movement by words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Space,
    Word,
    Punctuation,
    Marker,
}

/// Returns the kind of a unit.
pub(crate) fn class(unit: &str) -> Class {
    match unit.chars().next() {
        None => Class::Space,
        Some(first) if first.is_whitespace() => Class::Space,
        Some(first) if first.is_alphanumeric() || first == '_' => Class::Word,
        Some(first) if is_reserved(first) => Class::Marker,
        Some(_) => Class::Punctuation,
    }
}

/// Returns the end of the word at or after `at`: spaces, then units of one kind.
pub(crate) fn word_end(line: &str, mut at: usize) -> usize {
    let mut word = Class::Space;
    while at < line.len() {
        let end = next(line, at);
        let class = class(&line[at..end]);
        if word == Class::Space {
            word = class;
        } else if class != word {
            break;
        }
        at = end;
        if word == Class::Marker {
            break;
        }
    }
    at
}

/// Returns the start of the word at or before `at`.
pub(crate) fn word_start(line: &str, mut at: usize) -> usize {
    let mut word = Class::Space;
    while at > 0 {
        let start = previous(line, at);
        let class = class(&line[start..at]);
        if word == Class::Space {
            word = class;
        } else if class != word {
            break;
        }
        at = start;
        if word == Class::Marker {
            break;
        }
    }
    at
}
