//! The YAML block between `---` lines at the top of skills and templates.
//!
//! Only the scalars of the outermost mapping are used, so the block is read as a stream of events
//! and never becomes a tree: depth costs nothing, and the rest of the block is checked but not kept.
//! Discovery reads files only up to the end of the block.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use pi_base::text::without_mark;
use saphyr_parser::{Event, Parser, ScalarStyle};

/// Number of bytes that are read at a time.
const CHUNK: usize = 4096;
/// Size limit of a block.
const LONGEST_BLOCK: usize = 256 * 1024;

/// The scalar fields of a block.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fields(BTreeMap<String, Scalar>);

#[derive(Debug, PartialEq, Eq)]
enum Scalar {
    Text(String),
    Boolean(bool),
    /// A number, null, or a value that is not a scalar.
    Other,
}

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
        match self.0.get(name) {
            Some(Scalar::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns true if a field is the boolean `true`.
    pub(super) fn is_true(&self, name: &str) -> bool {
        self.0.get(name) == Some(&Scalar::Boolean(true))
    }

    /// Parses the YAML of a block.
    pub(super) fn parse(yaml: &str) -> Result<Self, InvalidFrontMatter> {
        let mut fields = BTreeMap::new();
        let mut depth = 0usize;
        let mut documents = 0;
        let mut key: Option<String> = None;
        // YAML allows a tab between a key and its value, but the parser does not. Replaced by one
        // character, so that columns stay correct.
        let yaml = yaml.replace(":\t", ": ");
        for event in Parser::new_from_str(&yaml) {
            let (event, span) = event.map_err(|error| {
                InvalidFrontMatter::at(error.marker().line(), error.marker().col(), error.info())
            })?;
            let position = (span.start.line(), span.start.col());
            // In a mapping, keys and values alternate. Only those of the outermost one are kept.
            let mut value = None;
            match event {
                Event::DocumentStart(_) => {
                    documents += 1;
                    if documents > 1 {
                        return Err(InvalidFrontMatter::at(
                            position.0,
                            position.1,
                            "a second document starts",
                        ));
                    }
                }
                Event::MappingStart(..) | Event::SequenceStart(..) => {
                    if depth == 1 {
                        value = Some(Scalar::Other);
                    }
                    // An outermost list has no fields, so it counts as one level deeper.
                    let list = depth == 0 && matches!(event, Event::SequenceStart(..));
                    depth += if list { 2 } else { 1 };
                }
                // An outermost list added two levels, but no event follows its end.
                Event::MappingEnd | Event::SequenceEnd => depth = depth.saturating_sub(1),
                Event::Alias(_) if depth == 1 => value = Some(Scalar::Other),
                Event::Scalar(text, style, _, tag) if depth == 1 => {
                    if key.is_none() {
                        if fields.contains_key(text.as_ref()) {
                            let reason = format!("duplicate key `{text}`");
                            return Err(InvalidFrontMatter::at(position.0, position.1, &reason));
                        }
                        key = Some(text.into_owned());
                        continue;
                    }
                    let plain = style == ScalarStyle::Plain && tag.is_none();
                    value =
                        Some(if plain { plain_scalar(text) } else { Scalar::Text(text.into()) });
                }
                _ => {}
            }
            if let Some(value) = value {
                // A key that is not a scalar has no name, and its value is ignored.
                let name = key.take();
                match name {
                    Some(name) => drop(fields.insert(name, value)),
                    None => key = Some(String::new()),
                }
            }
        }
        fields.remove("");
        Ok(Self(fields))
    }
}

impl InvalidFrontMatter {
    fn at(line: usize, column: usize, reason: &str) -> Self {
        // The line of the opening `---` is not part of the block.
        Self { line: line + 1, column: column + 1, reason: reason.to_owned() }
    }
}

/// Returns the type of an unquoted scalar in the core schema of YAML 1.2.
fn plain_scalar(text: Cow<'_, str>) -> Scalar {
    match text.as_ref() {
        "true" | "True" | "TRUE" => return Scalar::Boolean(true),
        "false" | "False" | "FALSE" => return Scalar::Boolean(false),
        "" | "~" | "null" | "Null" | "NULL" => return Scalar::Other,
        _ => {}
    }
    let unsigned = text.trim_start_matches(['-', '+']);
    let number = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && (text.parse::<f64>().is_ok()
            || unsigned.strip_prefix("0x").is_some_and(|hex| u64::from_str_radix(hex, 16).is_ok())
            || unsigned.strip_prefix("0o").is_some_and(|oct| u64::from_str_radix(oct, 8).is_ok())
            || matches!(unsigned.to_ascii_lowercase().as_str(), ".inf" | ".nan"));
    if number { Scalar::Other } else { Scalar::Text(text.into_owned()) }
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
