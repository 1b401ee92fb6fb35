//! The reasons why a value does not match a schema, in words that a model can act on.

use std::fmt;

use boon::{ErrorKind, ValidationError};
use pi_base::text::cut;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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

/// Returns the violations of a failed validation, at most a page of them.
pub(super) fn violations(error: &ValidationError<'_, '_>) -> Vec<Violation> {
    let mut found = Vec::new();
    collect(error, &mut found);
    let more = found.len().saturating_sub(MAX_VIOLATIONS);
    if more > 0 {
        found.truncate(MAX_VIOLATIONS);
        found.push(Violation::of_whole(format!("and {more} more problems")));
    }
    found
}

fn collect(error: &ValidationError<'_, '_>, out: &mut Vec<Violation>) {
    let is_group = matches!(
        error.kind,
        ErrorKind::Group
            | ErrorKind::Schema { .. }
            | ErrorKind::Reference { .. }
            | ErrorKind::AllOf
            | ErrorKind::ContentSchema
            | ErrorKind::Contains
    );
    if is_group && !error.causes.is_empty() {
        error.causes.iter().for_each(|cause| collect(cause, out));
        return;
    }
    let pointer = error.instance_location.to_string();
    out.push(Violation { pointer, message: message(error) });
}

fn message(error: &ValidationError<'_, '_>) -> String {
    match &error.kind {
        ErrorKind::Type { got, want } => {
            let want: Vec<String> = want.iter().map(|kind| kind.to_string()).collect();
            format!("expected {}, got {got}", want.join(" or "))
        }
        ErrorKind::Enum { want } => format!("expected one of {}", values(want)),
        ErrorKind::Const { want } => format!("expected {}", quoted(want)),
        ErrorKind::Required { want } => {
            let names: Vec<String> = want.iter().map(|name| format!("\"{name}\"")).collect();
            let noun = if names.len() == 1 { "property" } else { "properties" };
            format!("missing {noun} {}", names.join(", "))
        }
        ErrorKind::AdditionalProperties { got } => {
            let names: Vec<String> = got.iter().map(|name| format!("\"{name}\"")).collect();
            let noun = if names.len() == 1 { "property" } else { "properties" };
            format!("unexpected {noun} {}", shortened(&names.join(", ")))
        }
        ErrorKind::FalseSchema => "no value is permitted here".to_owned(),
        ErrorKind::Format { got, want, .. } => format!("{} is not a valid {want}", quoted(got)),
        ErrorKind::Pattern { got, want } => {
            format!("\"{}\" does not match the pattern {want}", shortened(got))
        }
        ErrorKind::MinLength { got, want } => {
            format!("expected at least {want} characters, got {got}")
        }
        ErrorKind::MaxLength { got, want } => {
            format!("expected at most {want} characters, got {got}")
        }
        ErrorKind::MinItems { got, want } => format!("expected at least {want} items, got {got}"),
        ErrorKind::MaxItems { got, want } => format!("expected at most {want} items, got {got}"),
        ErrorKind::MinProperties { got, want } => {
            format!("expected at least {want} properties, got {got}")
        }
        ErrorKind::MaxProperties { got, want } => {
            format!("expected at most {want} properties, got {got}")
        }
        ErrorKind::Minimum { got, want } => format!("expected at least {want}, got {got}"),
        ErrorKind::Maximum { got, want } => format!("expected at most {want}, got {got}"),
        ErrorKind::ExclusiveMinimum { got, want } => {
            format!("expected more than {want}, got {got}")
        }
        ErrorKind::ExclusiveMaximum { got, want } => {
            format!("expected less than {want}, got {got}")
        }
        ErrorKind::MultipleOf { got, want } => format!("{got} is not a multiple of {want}"),
        ErrorKind::UniqueItems { got: [first, second] } => {
            format!("the items {first} and {second} are equal")
        }
        ErrorKind::Not => "the value matches a schema that it must not match".to_owned(),
        ErrorKind::AnyOf | ErrorKind::OneOf(None) => {
            format!("matches none of the alternatives: {}", alternatives(error))
        }
        ErrorKind::OneOf(Some((first, second))) => format!(
            "matches the alternatives {} and {}, expected exactly one",
            first + 1,
            second + 1
        ),
        other => shortened(&other.to_string()),
    }
}

/// Describes the first problem with each alternative.
fn alternatives(error: &ValidationError<'_, '_>) -> String {
    let place = error.instance_location.to_string();
    let mut texts = Vec::new();
    for (number, alternative) in error.causes.iter().enumerate().take(MAX_VIOLATIONS) {
        let mut problems = Vec::new();
        collect(alternative, &mut problems);
        let Some(mut first) = problems.into_iter().next() else { continue };
        // The pointer is relative to the value that has alternatives.
        if let Some(below) = first.pointer.strip_prefix(&place) {
            first.pointer = below.to_owned();
        }
        texts.push(format!("({}) {first}", number + 1));
    }
    texts.join("; ")
}

fn values(values: &[Value]) -> String {
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
