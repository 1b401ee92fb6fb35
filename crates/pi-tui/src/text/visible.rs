//! Text as it can be written to a terminal.

use std::borrow::Cow;

use pi_base::text::{is_clean, is_shown};

/// Columns of a tab.
pub(crate) const TAB: &str = "   ";

/// Returns the text as it can be shown on one line, without
/// [invisible characters](pi_base::text::is_invisible). A tab becomes three spaces, a line break one.
pub fn visible(text: &str) -> Cow<'_, str> {
    visible_after(None, text)
}

/// Returns the text as it can be shown after this character, which a joiner at the beginning of the
/// text may belong to.
pub(crate) fn visible_after(mut before: Option<char>, text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| (b' '..0x7f).contains(&byte)) || is_clean(before, text) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' => shown.push_str(TAB),
            '\n' | '\u{2028}' | '\u{2029}' => shown.push(' '),
            other if !is_shown(before, other) => continue,
            other => shown.push(other),
        }
        before = Some(character);
    }
    Cow::Owned(shown)
}
