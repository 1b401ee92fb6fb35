//! The reasons why a value does not match a schema, in words that a model can act on.

use std::fmt;

use pi_base::text::cut;
use pi_schema::{Checked, Detail, Mismatch};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::schema::type_name;

/// Largest number of violations that are reported.
const MAX_VIOLATIONS: usize = 20;

/// Largest number of permitted values that a message lists.
const MAX_VALUES: usize = 30;

/// Longest quotation of a value.
const MAX_QUOTE: usize = 200;

/// A part of a value that does not match the schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// JSON pointer to the part; empty for the whole value.
    pub pointer: String,
    /// The expectation and the difference.
    pub message: String,
}

impl Violation {
    /// Creates a violation of the whole value.
    pub(crate) fn of_whole(message: impl Into<String>) -> Self {
        Self { pointer: String::new(), message: message.into() }
    }

    /// Returns the pointer, or a name for the whole value.
    pub(super) fn place(&self) -> &str {
        if self.pointer.is_empty() { "the root" } else { &self.pointer }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pointer.is_empty() {
            return f.write_str(&self.message);
        }
        write!(f, "{}: {}", self.pointer, self.message)
    }
}

/// Returns the violations that a check found, at most a page of them.
pub(super) fn violations(checked: &Checked<'_, '_>) -> Vec<Violation> {
    let mut found = described(&checked.mismatches);
    if found.is_empty() && !(checked.is_complete && checked.is_certain) {
        found
            .push(Violation::of_whole("the value could not be checked: the schema is too complex"));
    }
    let more = found.len().saturating_sub(MAX_VIOLATIONS);
    if more > 0 {
        found.truncate(MAX_VIOLATIONS);
        found.push(Violation::of_whole(format!("and {more} more problems")));
    }
    found
}

/// Describes mismatches. One violation names all members that a keyword requires or refuses.
fn described(mismatches: &[Mismatch<'_, '_>]) -> Vec<Violation> {
    let is_same = |a: &Mismatch<'_, '_>, b: &Mismatch<'_, '_>| {
        matches!((&a.detail, &b.detail), (Detail::Member(_), Detail::Member(_)))
            && (a.keyword, &a.path) == (b.keyword, &b.path)
    };
    let groups = mismatches.chunk_by(is_same);
    let violations = groups.filter_map(|group| {
        let first = group.first()?;
        Some(Violation { pointer: first.pointer(), message: message(first, &members(group)) })
    });
    violations.collect()
}

/// Returns the names of members, after a noun.
fn members(group: &[Mismatch<'_, '_>]) -> String {
    let name = |mismatch: &Mismatch<'_, '_>| match &mismatch.detail {
        Detail::Member(name) => Some(format!("\"{name}\"")),
        _ => None,
    };
    let names: Vec<String> = group.iter().filter_map(name).collect();
    let noun = if names.len() == 1 { "property" } else { "properties" };
    format!("{noun} {}", shortened(&names.join(", ")))
}

fn message(mismatch: &Mismatch<'_, '_>, members: &str) -> String {
    let (want, got) = (mismatch.expected, mismatch.value);
    let text = || want.as_str().unwrap_or_default();
    let parts =
        |bound: &str, unit: &str| format!("expected {bound} {want} {unit}, got {}", count(got));
    match (mismatch.keyword, &mismatch.detail) {
        (_, Detail::Alternatives(alternatives)) => {
            let texts = alternative_texts(&mismatch.pointer(), alternatives);
            format!("matches none of the alternatives: {texts}")
        }
        (_, Detail::Dependency { missing, present }) => {
            format!("missing property \"{missing}\", which \"{present}\" requires")
        }
        ("uniqueItems", Detail::Pair(first, second)) => {
            format!("the items {first} and {second} are equal")
        }
        (_, Detail::Pair(first, second)) => {
            let (first, second) = (first + 1, second + 1);
            format!("matches the alternatives {first} and {second}, expected exactly one")
        }
        ("type", _) => {
            let names = match want {
                Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
                _ => vec![text()],
            };
            format!("expected {}, got {}", names.join(" or "), type_name(got))
        }
        ("enum", _) => format!("expected one of {}", values(want)),
        ("const", _) => format!("expected {}", quoted(want)),
        ("required", _) => format!("missing {members}"),
        ("additionalProperties" | "unevaluatedProperties", _) => format!("unexpected {members}"),
        ("propertyNames", _) => format!("invalid name of {members}"),
        ("", _) => "no value is permitted here".to_owned(),
        ("format", _) => format!("{} is not a valid {}", quoted(got), text()),
        ("pattern", _) => {
            let got = shortened(got.as_str().unwrap_or_default());
            format!("\"{got}\" does not match the pattern {}", text())
        }
        ("minLength", _) => parts("at least", "characters"),
        ("maxLength", _) => parts("at most", "characters"),
        ("minItems", _) => parts("at least", "items"),
        ("maxItems", _) => parts("at most", "items"),
        ("minProperties", _) => parts("at least", "properties"),
        ("maxProperties", _) => parts("at most", "properties"),
        ("minimum", _) => format!("expected at least {want}, got {got}"),
        ("maximum", _) => format!("expected at most {want}, got {got}"),
        ("exclusiveMinimum", _) => format!("expected more than {want}, got {got}"),
        ("exclusiveMaximum", _) => format!("expected less than {want}, got {got}"),
        ("multipleOf", _) => format!("{got} is not a multiple of {want}"),
        ("not", _) => "the value matches a schema that it must not match".to_owned(),
        ("contains", _) => "too few or too many items match the schema in contains".to_owned(),
        (keyword, _) => format!("does not match {keyword} {}", quoted(want)),
    }
}

/// Returns the number of characters, items or members.
fn count(value: &Value) -> usize {
    match value {
        Value::String(text) => text.chars().count(),
        Value::Array(items) => items.len(),
        Value::Object(members) => members.len(),
        _ => 0,
    }
}

/// Describes the first problem with each alternative for the value at `place`.
fn alternative_texts(place: &str, alternatives: &[Vec<Mismatch<'_, '_>>]) -> String {
    let mut texts = Vec::new();
    for (number, alternative) in alternatives.iter().enumerate().take(MAX_VIOLATIONS) {
        let Some(mut first) = described(alternative).into_iter().next() else { continue };
        // The pointer is relative to the value that has alternatives.
        if let Some(below) = first.pointer.strip_prefix(place) {
            first.pointer = below.to_owned();
        }
        texts.push(format!("({}) {first}", number + 1));
    }
    texts.join("; ")
}

fn values(values: &Value) -> String {
    let values = values.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut texts: Vec<String> = values.iter().take(MAX_VALUES).map(quoted).collect();
    if values.len() > MAX_VALUES {
        texts.push("…".to_owned());
    }
    texts.join(", ")
}

fn quoted(value: &Value) -> String {
    shortened(&value.to_string())
}

/// Shortens a text that is only an illustration.
fn shortened(text: &str) -> String {
    cut(text, MAX_QUOTE).into_owned()
}
