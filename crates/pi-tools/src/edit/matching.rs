//! Where the texts of edits are: exactly, or but for differences that models do not see.
//!
//! Models write plain quotes, dashes and spaces where a file has typographic ones, compose
//! letters, and lose spaces at the ends of lines. If one text is only found with these ignored,
//! all are looked up that way, so that they are found in one and the same text.

use std::borrow::Cow;
use std::ops::Range;

use pi_agent::ToolError;
use unicode_normalization::{UnicodeNormalization, is_nfkc};

use super::Edit;

/// Edits and where they belong.
#[derive(Debug)]
pub(super) struct Placed<'a> {
    /// The text that they were found in: as many lines as the one they were searched in.
    pub(super) text: Cow<'a, str>,
    /// In the order of the text; none overlap.
    pub(super) places: Vec<Place>,
}

/// Where an edit belongs.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) range: Range<usize>,
    /// Its number.
    pub(super) edit: usize,
}

/// Why edits cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Problem {
    Empty { edit: usize },
    Missing { edit: usize },
    Ambiguous { edit: usize, count: usize },
    Overlap { first: usize, second: usize },
    NoChange,
}

/// Finds the place of every edit in a text.
pub(super) fn place<'a>(text: &'a str, edits: &[Edit]) -> Result<Placed<'a>, Problem> {
    if let Some(edit) = edits.iter().position(|edit| edit.old_text.is_empty()) {
        return Err(Problem::Empty { edit });
    }
    let plain = plain(text);
    let exact = edits.iter().all(|edit| text.contains(&edit.old_text));
    let searched = if exact { Cow::Borrowed(text) } else { plain.clone() };
    let mut places = Vec::with_capacity(edits.len());
    for (number, edit) in edits.iter().enumerate() {
        let plain_old = self::plain(&edit.old_text);
        let old = if exact { edit.old_text.as_str() } else { &*plain_old };
        let start = searched.find(old).filter(|_| !old.is_empty());
        let start = start.ok_or(Problem::Missing { edit: number })?;
        // What differs only in what models do not see is not unique for them.
        let count = if plain_old.is_empty() {
            text.matches(&edit.old_text).count()
        } else {
            plain.matches(&*plain_old).count()
        };
        if count > 1 {
            return Err(Problem::Ambiguous { edit: number, count });
        }
        places.push(Place { range: start..start + old.len(), edit: number });
    }
    places.sort_by_key(|place| place.range.start);
    for pair in places.windows(2) {
        if pair[1].range.start < pair[0].range.end {
            return Err(Problem::Overlap { first: pair[0].edit, second: pair[1].edit });
        }
    }
    Ok(Placed { text: searched, places })
}

impl Problem {
    /// What the model is told. With one edit there is no need to say which.
    pub(super) fn describe(self, path: &str, several: bool) -> ToolError {
        let which = |edit: usize, alone: &str| {
            if several { format!("edits[{edit}]") } else { alone.to_owned() }
        };
        ToolError::new(match self {
            Self::Empty { edit } if several => {
                format!("edits[{edit}].oldText must not be empty in {path}.")
            }
            Self::Empty { .. } => format!("oldText must not be empty in {path}."),
            Self::Missing { edit } => format!(
                "Could not find {} in {path}. The {} must match exactly including all whitespace and newlines.",
                which(edit, "the exact text"),
                if several { "oldText" } else { "old text" }
            ),
            Self::Ambiguous { edit, count } => format!(
                "Found {count} occurrences of {} in {path}. {} must be unique. Please provide more context to make it unique.",
                which(edit, "the text"),
                if several { "Each oldText" } else { "The text" }
            ),
            Self::Overlap { first, second } => format!(
                "edits[{first}] and edits[{second}] overlap in {path}. Merge them into one edit or target disjoint regions."
            ),
            Self::NoChange if several => {
                format!("No changes made to {path}. The replacements produced identical content.")
            }
            Self::NoChange => format!(
                "No changes made to {path}. The replacement produced identical content. This might indicate an issue with special characters or the text not existing as expected."
            ),
        })
    }
}

/// The text without what models do not see. It has the same number of lines.
fn plain(text: &str) -> Cow<'_, str> {
    let is_plain = |line: &str| line.is_ascii() && !line.ends_with(is_space);
    if text.split('\n').all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            plain.push('\n');
        }
        let line = if is_nfkc(line) { Cow::Borrowed(line) } else { line.nfkc().collect() };
        plain.extend(line.trim_end_matches(is_space).chars().map(on_the_keyboard));
    }
    Cow::Owned(plain)
}

/// White space as the TypeScript pi takes it away at the ends of lines.
fn is_space(c: char) -> bool {
    c == '\u{feff}' || c.is_whitespace() && c != '\u{85}'
}

/// The character that a keyboard has for one that it has not.
fn on_the_keyboard(c: char) -> char {
    match c {
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}
