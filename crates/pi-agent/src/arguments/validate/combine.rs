//! Schemas made of schemas, and which of several complaints is the one to pass on.
//!
//! When no branch of a union takes a value, every branch has something to say and all but one of
//! them say the wrong thing. The model is told about the branch it most likely meant.

use serde_json::{Map, Value};

use super::{At, Found, accepts, check};
use crate::arguments::json;
use crate::arguments::schema::Schema;

pub(super) fn check_combinations<'s>(
    schema: &Schema<'s>,
    keywords: &'s Map<String, Value>,
    value: &Value,
    at: At<'_>,
    found: &mut Found,
) {
    let branches = |keyword| keywords.get(keyword).and_then(Value::as_array);
    for part in branches("allOf").into_iter().flatten() {
        check(schema, part, value, at.beside(), found);
    }
    if let Some(union) = branches("anyOf")
        && !union.iter().any(|branch| accepts(schema, branch, value, at.place.beside()))
    {
        add_likeliest(schema, union, value, at, found);
    }
    if let Some(union) = branches("oneOf") {
        let (matches, sure) = schema.surely(|| {
            let fits = |branch: &&'s Value| accepts(schema, branch, value, at.place.beside());
            union.iter().filter(fits).take(2).count()
        });
        match matches {
            0 => add_likeliest(schema, union, value, at, found),
            2 if sure => found.add(at.path, || "matches more than one alternative".to_owned()),
            _ => {}
        }
    }
    if let Some(refused) = keywords.get("not")
        && (refused.is_object() || refused.is_boolean())
        && schema.surely(|| accepts(schema, refused, value, at.place.beside())) == (true, true)
    {
        found.add(at.path, || "must not match the schema in not".to_owned());
    }
    if let Some(condition) = keywords.get("if") {
        let (holds, sure) = schema.surely(|| accepts(schema, condition, value, at.place.beside()));
        let consequence = keywords.get(if holds { "then" } else { "else" });
        // A condition that was not checked in full counts as met, but nothing follows from it.
        if let Some(consequence) = consequence.filter(|_| sure || !holds) {
            check(schema, consequence, value, at.beside(), found);
        }
    }
}

/// Adds what one branch of a union has against the value; none of them takes it.
fn add_likeliest<'s>(
    schema: &Schema<'s>,
    union: &'s [Value],
    value: &Value,
    at: At<'_>,
    found: &mut Found,
) {
    if !found.is_listing {
        found.any = true;
        return;
    }
    let complaints = |branch| {
        let mut found = Found::listing();
        check(schema, branch, value, at.beside(), &mut found);
        found
    };
    let likeliest = match tagged_branch(schema, union, value) {
        Some(Tag::Names(branch)) => Some(complaints(branch)),
        Some(Tag::Unknown { key, tags }) => {
            return found.add(Some(&at.member(key)), || {
                format!("expected one of {}", json::compact(&tags))
            });
        }
        // The branch that knows most of the members, then the one whose first complaint is about
        // the longest path, as a rule the deepest, then the first.
        None => union
            .iter()
            .map(|branch| {
                let complaints = complaints(branch);
                let length = complaints.list.first().map_or(0, |(length, _)| *length);
                ((shared_members(schema, branch, value), length), complaints)
            })
            .reduce(|best, next| if next.0 > best.0 { next } else { best })
            .map(|(_, complaints)| complaints),
    };
    match likeliest {
        Some(likeliest) if likeliest.any => {
            found.any = true;
            found.list.extend(likeliest.list);
        }
        _ => found.add(at.path, || "matches no alternative".to_owned()),
    }
}

/// What a property that tells the branches of a union apart says about a value.
enum Tag<'s> {
    /// It names this branch.
    Names(&'s Value),
    /// It is absent or names none of them.
    Unknown { key: &'s str, tags: Value },
}

/// Looks for a property that every branch declares as a constant of its own.
fn tagged_branch<'s>(schema: &Schema<'s>, union: &'s [Value], value: &Value) -> Option<Tag<'s>> {
    let members = value.as_object()?;
    let properties: Vec<&'s Map<String, Value>> =
        union.iter().map(|branch| properties(schema, branch)).collect::<Option<_>>()?;
    let (key, tags) = properties.first()?.keys().find_map(|key| {
        let tags: Vec<&Value> =
            properties.iter().map(|properties| constant(properties, key)).collect::<Option<_>>()?;
        let distinct: std::collections::HashSet<_> =
            tags.iter().map(|tag| json::identity(tag)).collect();
        (distinct.len() == tags.len()).then_some((key, tags))
    })?;
    let named = members.get(key).and_then(|given| {
        tags.iter().zip(union).find(|(tag, _)| json::equal(tag, given)).map(|(_, branch)| branch)
    });
    Some(match named {
        Some(branch) => Tag::Names(branch),
        None => Tag::Unknown { key, tags: tags.into_iter().cloned().collect() },
    })
}

/// The constant that a property must be, if it is a scalar.
fn constant<'s>(properties: &'s Map<String, Value>, key: &str) -> Option<&'s Value> {
    let constant = properties.get(key)?.get("const")?;
    (!constant.is_object() && !constant.is_array()).then_some(constant)
}

/// How many members of the value a branch declares.
fn shared_members<'s>(schema: &Schema<'s>, branch: &'s Value, value: &Value) -> usize {
    match (value, properties(schema, branch)) {
        (Value::Object(members), Some(properties)) => {
            members.keys().filter(|key| properties.contains_key(*key)).count()
        }
        _ => 0,
    }
}

fn properties<'s>(schema: &Schema<'s>, branch: &'s Value) -> Option<&'s Map<String, Value>> {
    schema.behind_reference(branch).get("properties")?.as_object()
}
