//! Locates the texts of edits in a file: exactly, or ignoring differences that models do not see.
//!
//! Models write plain quotes, dashes and spaces where a file has typographic ones, compose letters,
//! and drop spaces at the ends of lines. If one edit only matches with these differences ignored,
//! all edits are matched that way, so that all of them refer to one text.

use std::borrow::Cow;
use std::ops::Range;

use pi_agent::ToolError;
use unicode_normalization::{UnicodeNormalization, is_nfkc};

use super::Edit;

/// All edits, located in a text.
#[derive(Debug)]
pub(super) struct Located<'a> {
    /// The text in which the edits were located; it has as many lines as the original.
    pub(super) text: Cow<'a, str>,
    /// Locations in the order of the text, without overlaps.
    pub(super) locations: Vec<Location>,
}

/// The location of an edit.
#[derive(Debug)]
pub(super) struct Location {
    pub(super) range: Range<usize>,
    /// Index of the edit.
    pub(super) edit: usize,
}

/// Reasons why edits cannot be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EditError {
    Empty { edit: usize },
    Missing { edit: usize },
    Ambiguous { edit: usize, count: usize },
    Overlap { first: usize, second: usize },
    NoChange,
}

/// Locates all edits in a text.
pub(super) fn locate<'a>(text: &'a str, edits: &[Edit]) -> Result<Located<'a>, EditError> {
    if let Some(edit) = edits.iter().position(|edit| edit.old_text.is_empty()) {
        return Err(EditError::Empty { edit });
    }
    let plain = plain(text);
    let exact = edits.iter().all(|edit| text.contains(&edit.old_text));
    let searched = if exact { Cow::Borrowed(text) } else { plain.clone() };
    let mut locations = Vec::with_capacity(edits.len());
    for (number, edit) in edits.iter().enumerate() {
        let plain_old = self::plain(&edit.old_text);
        let old = if exact { edit.old_text.as_str() } else { &*plain_old };
        let start = if old.is_empty() { None } else { searched.find(old) };
        let start = start.ok_or(EditError::Missing { edit: number })?;
        // Texts that differ only in ways that models do not see are duplicates for them.
        let count = if plain_old.is_empty() {
            text.matches(&edit.old_text).count()
        } else {
            plain.matches(&*plain_old).count()
        };
        if count > 1 {
            return Err(EditError::Ambiguous { edit: number, count });
        }
        locations.push(Location { range: start..start + old.len(), edit: number });
    }
    locations.sort_by_key(|location| location.range.start);
    for pair in locations.windows(2) {
        if pair[1].range.start < pair[0].range.end {
            return Err(EditError::Overlap { first: pair[0].edit, second: pair[1].edit });
        }
    }
    Ok(Located { text: searched, locations })
}

impl EditError {
    /// Returns the index of the edit whose text does not occur.
    pub(super) fn missing(self) -> Option<usize> {
        match self {
            Self::Missing { edit } => Some(edit),
            _ => None,
        }
    }

    /// Describes the error for the model. A single edit needs no index.
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

/// Normalizes a text: removes differences that models do not see. The number of lines stays.
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
        plain.extend(line.trim_end_matches(is_space).chars().map(plain_character));
    }
    Cow::Owned(plain)
}

/// Returns true for the white space that the TypeScript pi removes at the ends of lines.
fn is_space(c: char) -> bool {
    c == '\u{feff}' || c.is_whitespace() && c != '\u{85}'
}

/// Converts a typographic character to the plain one.
fn plain_character(c: char) -> char {
    match c {
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}
