//! Widths of texts and of grapheme clusters.

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use super::visible::visible;

/// Returns the number of columns that a text takes, by grapheme cluster. Characters that are never
/// written (see [`visible`]) have no width.
pub fn width(text: &str) -> usize {
    if text.bytes().all(|byte| (b' '..0x7f).contains(&byte)) {
        return text.len();
    }
    graphemes(&visible(text)).map(grapheme_width).sum()
}

/// Returns the columns of a line that had `columns` and ended with `text`, after `added` follows it.
/// The first character of `added` may join the last one of the text, as the halves of a flag do.
pub(crate) fn extended_width(columns: usize, text: &str, added: &str) -> usize {
    if added.as_bytes().first().is_none_or(u8::is_ascii) {
        return columns + width(added);
    }
    let last = text.graphemes(true).next_back().unwrap_or_default();
    (columns + width(&[last, added].concat())).saturating_sub(grapheme_width(last))
}

/// Returns the number of columns of one grapheme cluster.
pub fn grapheme_width(grapheme: &str) -> usize {
    if let [byte] = grapheme.as_bytes() {
        return usize::from((b' '..0x7f).contains(byte));
    }
    match grapheme.chars().next() {
        None => 0,
        Some(first) if first.is_control() => 0,
        // A flag arrives in two halves while text is streamed; the width must not change then.
        Some('\u{1f1e6}'..='\u{1f1ff}') => 2,
        // Joined emoji are one picture, also when the table does not list the combination.
        Some(first) if is_pictographic(first) && grapheme.contains('\u{200d}') => {
            grapheme.width().min(2)
        }
        // Terminals do not make a wide character narrow because of a text variation selector.
        Some(first) if grapheme.contains('\u{fe0e}') => {
            grapheme.width().max(first.encode_utf8(&mut [0; 4]).width())
        }
        Some(_) => grapheme.width(),
    }
}

/// Returns true for characters in the blocks of emoji and symbols.
fn is_pictographic(character: char) -> bool {
    matches!(character, '\u{a9}' | '\u{ae}' | '\u{203c}'..='\u{3299}' | '\u{1f000}'..='\u{1fbff}')
}

/// Returns the grapheme clusters of a text.
pub fn graphemes(text: &str) -> impl Iterator<Item = &str> {
    Graphemes(text)
}

/// An iterator over grapheme clusters that is quick for ASCII.
struct Graphemes<'a>(&'a str);

impl<'a> Iterator for Graphemes<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let length = match self.0.as_bytes() {
            [] => return None,
            // Two ASCII characters never form a cluster, except for a line break.
            [first, second, ..] if first.is_ascii() && second.is_ascii() && *first != b'\r' => 1,
            _ => self.0.graphemes(true).next().map_or(self.0.len(), str::len),
        };
        let (first, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(first)
    }
}
