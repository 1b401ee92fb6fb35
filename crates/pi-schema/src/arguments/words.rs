//! Mismatches in the words of the TypeScript pi.
//!
//! If no branch of a union accepts a value, every branch has problems, and those of all branches
//! but one are misleading. The model reads those of the branch that it most likely meant.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::error::{Problem, ROOT};
use crate::document::{Document, Types};
use crate::{Detail, Mismatch, json, number};

/// Returns the problems that the model reads.
pub(super) fn problems<'s>(
    document: &Document<'s>,
    mismatches: &[Mismatch<'s, '_>],
) -> Vec<Problem> {
    described(document, mismatches).into_iter().map(|(_, problem)| problem).collect()
}

/// Returns each problem with the length of its path: 0 for the root, although its path has a name.
fn described<'s>(
    document: &Document<'s>,
    mismatches: &[Mismatch<'s, '_>],
) -> Vec<(usize, Problem)> {
    let mut problems = Vec::new();
    for mismatch in mismatches {
        match &mismatch.detail {
            Detail::Alternatives(alternatives) => {
                problems.extend(closest(document, mismatch, alternatives));
            }
            Detail::Member(name) | Detail::Dependency { missing: name, .. } => {
                problems.push(problem(mismatch, Some(name), message(mismatch)));
            }
            Detail::None | Detail::Pair(..) => {
                problems.push(problem(mismatch, None, message(mismatch)));
            }
        }
    }
    problems
}

fn problem(at: &Mismatch<'_, '_>, member: Option<&str>, message: String) -> (usize, Problem) {
    let names: Vec<&str> = at.path.iter().map(String::as_str).chain(member).collect();
    if names.is_empty() {
        return (0, Problem { path: ROOT.to_owned(), message });
    }
    let path = names.join(".");
    (1 + path.encode_utf16().count(), Problem { path, message })
}

fn message(mismatch: &Mismatch<'_, '_>) -> String {
    let expected = || json::compact(mismatch.expected);
    let parts = |bound: &str, unit: &str| format!("expected {bound} {} {unit}", expected());
    match mismatch.keyword {
        "" => "no value is allowed here".to_owned(),
        "type" => {
            let types = mismatch.schema.as_object().and_then(Types::of);
            let names = types.iter().flat_map(Types::as_slice).map(|kind| kind.name());
            let names: Vec<&str> = names.collect();
            format!("expected {}, got {}", names.join(" or "), json::type_name(mismatch.value))
        }
        "enum" => format!("expected one of {}", expected()),
        "const" => format!("expected {}", expected()),
        "minimum" => format!("expected >= {}", expected()),
        "maximum" => format!("expected <= {}", expected()),
        "exclusiveMinimum" => format!("expected > {}", expected()),
        "exclusiveMaximum" => format!("expected < {}", expected()),
        "multipleOf" => format!("expected a multiple of {}", expected()),
        "minLength" => parts("at least", "characters"),
        "maxLength" => parts("at most", "characters"),
        "minItems" => parts("at least", "items"),
        "maxItems" => parts("at most", "items"),
        "minProperties" => parts("at least", "properties"),
        "maxProperties" => parts("at most", "properties"),
        "pattern" => {
            format!("expected to match {}", mismatch.expected.as_str().unwrap_or_default())
        }
        "format" => format!("expected format {}", mismatch.expected.as_str().unwrap_or_default()),
        "uniqueItems" => "expected unique items".to_owned(),
        "contains" => contained(mismatch.schema),
        "required" => "missing".to_owned(),
        "propertyNames" => "invalid property name".to_owned(),
        "additionalProperties" | "unevaluatedProperties" => "unknown field".to_owned(),
        "oneOf" => "matches more than one alternative".to_owned(),
        "not" => "must not match the schema in not".to_owned(),
        _ => match &mismatch.detail {
            Detail::Dependency { present, .. } => format!("required when {present} is present"),
            _ => {
                let reference = mismatch.expected.as_str().unwrap_or_default();
                format!("unresolved reference {reference}")
            }
        },
    }
}

fn contained(schema: &Value) -> String {
    let limit = |keyword| schema.get(keyword)?.as_number().map(number::to_text);
    let least = limit("minContains").unwrap_or_else(|| "1".to_owned());
    match limit("maxContains") {
        Some(most) => format!("expected between {least} and {most} matching items"),
        None if least == "1" => "expected at least 1 matching item".to_owned(),
        None => format!("expected at least {least} matching items"),
    }
}

/// Returns the problems of one branch of a union that does not accept the value.
fn closest<'s>(
    document: &Document<'s>,
    mismatch: &Mismatch<'s, '_>,
    alternatives: &[Vec<Mismatch<'s, '_>>],
) -> Vec<(usize, Problem)> {
    let union = mismatch.expected.as_array().map(Vec::as_slice).unwrap_or_default();
    let properties: Vec<_> = union.iter().map(|branch| properties(document, branch)).collect();
    let members = mismatch.value.as_object();
    let closest = match members.and_then(|members| tagged_branch(&properties, members)) {
        Some(Tag::Names(index)) => alternatives.get(index).map(|one| described(document, one)),
        Some(Tag::Unknown { key, tags }) => {
            let message = format!("expected one of {}", json::compact(&tags));
            return vec![problem(mismatch, Some(key), message)];
        }
        // The branch that declares most of the members, then the one whose first problem has the
        // longest path and is probably the deepest, then the first.
        None => alternatives
            .iter()
            .zip(&properties)
            .map(|(alternative, properties)| {
                let problems = described(document, alternative);
                let length = problems.first().map_or(0, |(length, _)| *length);
                let keys = members.into_iter().flat_map(Map::keys);
                let is_declared =
                    |key: &&String| properties.is_some_and(|known| known.contains_key(*key));
                ((keys.filter(is_declared).count(), length), problems)
            })
            .reduce(|best, next| if next.0 > best.0 { next } else { best })
            .map(|(_, problems)| problems),
    };
    match closest {
        Some(problems) if !problems.is_empty() => problems,
        _ => vec![problem(mismatch, None, "matches no alternative".to_owned())],
    }
}

/// The branch of a union that a property of the value selects.
enum Tag<'s> {
    Names(usize),
    /// The property is absent or selects no branch.
    Unknown {
        key: &'s str,
        tags: Value,
    },
}

/// Evaluates a property that every branch declares as a different constant.
fn tagged_branch<'s>(
    properties: &[Option<&'s Map<String, Value>>],
    members: &Map<String, Value>,
) -> Option<Tag<'s>> {
    let properties: Vec<&'s Map<String, Value>> =
        properties.iter().copied().collect::<Option<_>>()?;
    let (key, tags) = properties.first()?.keys().find_map(|key| {
        let tags = properties.iter().map(|properties| constant(properties, key));
        let tags: Vec<&Value> = tags.collect::<Option<_>>()?;
        let distinct: HashSet<_> = tags.iter().map(|tag| json::identity(tag)).collect();
        (distinct.len() == tags.len()).then_some((key, tags))
    })?;
    let given = members.get(key);
    let is_named = |tag: &&Value| given.is_some_and(|given| json::equal(tag, given));
    Some(match tags.iter().position(is_named) {
        Some(index) => Tag::Names(index),
        None => Tag::Unknown { key, tags: tags.into_iter().cloned().collect() },
    })
}

fn properties<'s>(document: &Document<'s>, branch: &'s Value) -> Option<&'s Map<String, Value>> {
    document.dereferenced(branch).get("properties")?.as_object()
}

/// Returns the scalar constant that a property has to be.
fn constant<'s>(properties: &'s Map<String, Value>, key: &str) -> Option<&'s Value> {
    let constant = properties.get(key)?.get("const")?;
    (!constant.is_object() && !constant.is_array()).then_some(constant)
}
