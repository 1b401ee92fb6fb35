//! Removal of characters that steer the terminal or disguise text.

use std::borrow::Cow;

/// Columns of a tab.
pub(crate) const TAB: &str = "   ";

/// Returns the text as it can be shown on one line: without control characters (C0, C1, DEL), the
/// controls of text direction that can disguise text, and invisible characters. A tab
/// becomes three spaces, a line break one.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| (b' '..0x7f).contains(&byte)) || !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' => shown.push_str(TAB),
            '\n' | '\u{2028}' | '\u{2029}' => shown.push(' '),
            other if is_hidden(other) => {}
            other => shown.push(other),
        }
    }
    Cow::Owned(shown)
}

/// Returns true for characters that must not reach the terminal: control characters of both sets,
/// soft hyphens (terminals disagree about their width), controls of text direction, invisible
/// separators, line separators, interlinear annotations. Joiners are part of characters and stay.
pub(crate) fn is_hidden(character: char) -> bool {
    matches!(
        character,
        '\0'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'
            | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
    )
}
