//! The YAML block between `---` lines at the top of skills and templates.
//!
//! Only texts and booleans of the outermost mapping are used. Discovery reads files only up to the
//! end of the block.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use pi_base::text::without_mark;
use serde_json::{Map, Value};

use crate::yaml::{self, Dialect};

/// Number of bytes that are read at a time.
const CHUNK: usize = 4096;
/// Size limit of a block.
const LONGEST_BLOCK: usize = 256 * 1024;

/// The fields of a block.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fields(Map<String, Value>);

/// A block that is not valid YAML. Lines are counted from the top of the file.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "the front matter is not valid YAML at line {line}, column {column}: {reason}; \
     correct it (a value that contains `: ` needs quotes)"
)]
pub(super) struct InvalidFrontMatter {
    pub(super) line: usize,
    pub(super) column: usize,
    reason: String,
}

impl Fields {
    /// Returns a field if it is a string.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    /// Returns true if a field is the boolean `true`.
    pub(super) fn is_true(&self, name: &str) -> bool {
        self.0.get(name) == Some(&Value::Bool(true))
    }

    /// Parses the YAML of a block.
    pub(super) fn parse(yaml: &str) -> Result<Self, InvalidFrontMatter> {
        // YAML allows a tab between a key and its value, but the parser does not. Replaced by one
        // character, so that columns stay correct.
        let yaml = yaml.replace(":\t", ": ");
        let (value, _) = yaml::parse(&yaml, Dialect::Lenient).map_err(|invalid| {
            // The line of the opening `---` is not part of the block.
            let line = invalid.place.line + 1;
            InvalidFrontMatter { line, column: invalid.place.column, reason: invalid.reason }
        })?;
        match value {
            Value::Object(fields) => Ok(Self(fields)),
            _ => Ok(Self::default()),
        }
    }
}

/// Removes the byte order mark and converts line ends to `\n`.
pub(super) fn normalize(text: &str) -> Cow<'_, str> {
    let text = without_mark(text);
    if text.contains('\r') {
        text.replace("\r\n", "\n").replace('\r', "\n").into()
    } else {
        text.into()
    }
}

/// Splits a normalized text into the YAML of the block, if there is one, and the body.
pub(super) fn split(text: &str) -> (Option<&str>, &str) {
    let Some(first) = text.lines().next() else { return (None, text) };
    if !first.starts_with("---") || !first.trim_end().bytes().all(|byte| byte == b'-') {
        return (None, text);
    }
    let Some(length) = text[first.len()..].find("\n---") else { return (None, text) };
    let end = first.len() + length;
    let yaml = text.get(first.len() + 1..end).unwrap_or_default();
    (Some(yaml), text[end + 4..].trim_start_matches('-').trim())
}

/// Reads the beginning of a file: the whole block, and at least the first line with text. Invalid
/// UTF-8 is replaced.
pub(super) fn read_head(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut bytes = Vec::with_capacity(CHUNK);
    loop {
        let before = bytes.len();
        file.by_ref().take(CHUNK as u64).read_to_end(&mut bytes)?;
        let ended = bytes.len() == before;
        let text = String::from_utf8_lossy(&bytes);
        let text = normalize(&text);
        if ended || bytes.len() >= LONGEST_BLOCK || is_enough(&text) {
            return Ok(text.into_owned());
        }
    }
}

/// Returns true if the block is closed and text follows it.
fn is_enough(text: &str) -> bool {
    let (yaml, body) = split(text);
    let open = yaml.is_none() && text.starts_with("---");
    !open && body.trim_start().contains('\n')
}

#[cfg(test)]
mod tests;
