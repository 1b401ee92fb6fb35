//! A file of the user as a JSON value, with the place of every value for messages.

use std::fmt;

use pi_base::text::without_mark;
use pi_config::yaml::{self, Dialect, Place, Places};
use pi_schema::child_pointer;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::shape;

/// Largest file that is read, in bytes.
pub(super) const LARGEST_FILE: usize = 4 << 20;

/// A YAML or JSON file.
#[derive(Debug, Clone)]
pub struct Document {
    /// Name of the file, for messages.
    pub name: String,
    /// The content.
    pub value: Value,
    places: Places,
}

/// A problem in a file of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// Name of the file; empty for values of the command line.
    pub file: String,
    /// The place in the file.
    pub place: Option<Place>,
    /// The field, such as `verify[0].expect.exit`; empty for the whole file.
    pub field: String,
    /// The problem and what to do about it.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            f.write_str(&self.file)?;
            if let Some(place) = self.place {
                write!(f, ":{}:{}", place.line, place.column)?;
            }
            f.write_str(": ")?;
        }
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.message)
    }
}

impl Document {
    /// Parses a text: JSON if it begins with a brace and is valid JSON, or YAML.
    pub fn parse(name: &str, text: &str) -> Result<Self, Problem> {
        let text = without_mark(text);
        let problem = |place, message: String| Problem {
            file: name.to_owned(),
            place,
            field: String::new(),
            message,
        };
        if text.len() > LARGEST_FILE {
            return Err(problem(None, format!("the file is larger than {LARGEST_FILE} bytes")));
        }
        let is_json = name.to_ascii_lowercase().ends_with(".json");
        let (value, places) = match parse_json(text) {
            Ok(parsed) => parsed,
            // A YAML mapping in braces is not JSON, but a file called .json is meant to be.
            Err((place, reason)) if is_json => {
                return Err(problem(Some(place), format!("invalid JSON: {reason}")));
            }
            Err(_) => yaml::parse(text, Dialect::Plain).map_err(|invalid| {
                problem(Some(invalid.place), format!("invalid YAML: {}", invalid.reason))
            })?,
        };
        Ok(Self { name: name.to_owned(), value, places })
    }

    /// Returns the place of the value with a JSON pointer, or that of the nearest value around it.
    pub fn place(&self, pointer: &str) -> Option<Place> {
        let mut pointer = pointer;
        loop {
            if let Some(place) = self.places.get(pointer) {
                return Some(*place);
            }
            pointer = &pointer[..pointer.rfind('/')?];
        }
    }

    /// Returns the places of all values.
    pub(super) fn places(&self) -> &Places {
        &self.places
    }

    /// Returns a problem with the value of a pointer.
    pub fn problem(&self, pointer: &str, message: impl Into<String>) -> Problem {
        Problem {
            file: self.name.clone(),
            place: self.place(pointer),
            field: field(pointer),
            message: message.into(),
        }
    }

    /// Deserializes the content. The schema of the type finds all problems with their places;
    /// empty fields of the file count as absent.
    pub fn decode<T: JsonSchema + DeserializeOwned>(&self) -> Result<T, Vec<Problem>> {
        let mut value = self.value.clone();
        let mistakes = shape::check::<T>(&mut value);
        if !mistakes.is_empty() {
            let problem = |mistake: shape::Mistake| self.problem(&mistake.pointer, mistake.message);
            return Err(mistakes.into_iter().map(problem).collect());
        }
        serde_json::from_value(value).map_err(|error| vec![self.problem("", error.to_string())])
    }
}

/// Parses JSON. The YAML reader finds the places, since nearly all JSON is YAML, except that YAML
/// restricts tabs. The rest (escaped surrogates, very long keys) has no places.
fn parse_json(text: &str) -> Result<(Value, Places), (Place, String)> {
    let value = serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        let reason = message.split(" at line ").next().unwrap_or_default().to_owned();
        (Place { line: error.line(), column: error.column() }, reason)
    })?;
    match yaml::parse(&text.replace('\t', " "), Dialect::Lenient) {
        Ok((_, places)) => Ok((value, places)),
        Err(invalid) if invalid.reason.starts_with("duplicate key") => {
            Err((invalid.place, invalid.reason))
        }
        Err(_) => Ok((value, Places::new())),
    }
}

/// Returns a pointer as people write it: `verify[0].expect`.
pub(super) fn field(pointer: &str) -> String {
    let mut field = String::new();
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        if part.bytes().all(|byte| byte.is_ascii_digit()) && !field.is_empty() {
            field.push_str(&format!("[{part}]"));
        } else {
            if !field.is_empty() {
                field.push('.');
            }
            field.push_str(&part);
        }
    }
    field
}

/// Returns the pointer of a field as people write it: the inverse of `field`.
pub fn pointer_of(field: &str) -> String {
    let mut pointer = String::new();
    for part in field.replace('[', ".").replace(']', "").split('.') {
        pointer = child_pointer(&pointer, part);
    }
    pointer
}
