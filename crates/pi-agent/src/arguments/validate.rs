//! What of a JSON Schema a value does not satisfy, in the order and the words of the TypeScript pi.
//!
//! The keywords of a node are checked in a fixed order: `type` (and nothing more if it fails), the
//! literals, what belongs to the kind of the value, the combinations, the reference.
//! A keyword that is malformed constrains nothing.

mod combine;
mod list;
mod object;
mod scalar;

use serde_json::{Map, Value};

use super::error::{Problem, ROOT};
use super::json;
use super::schema::{Place, Schema, Target, Types, reference};

/// Everything that does not fit; empty if the value is valid.
pub(super) fn problems(schema: &Schema<'_>, value: &Value) -> Vec<Problem> {
    let mut found = Found::listing();
    check(schema, schema.root, value, At::default(), &mut found);
    let mut problems: Vec<Problem> = found.list.into_iter().map(|(_, problem)| problem).collect();
    // An unfinished check proves nothing, so it must not pass for a clean one.
    if problems.is_empty() && schema.gave_up() {
        let message = "too complex to check against the tool's schema".to_owned();
        problems.push(Problem { path: ROOT.to_owned(), message });
    }
    problems
}

/// Whether a value satisfies `about`, a schema within `schema`.
pub(super) fn accepts<'s>(
    schema: &Schema<'s>,
    about: &'s Value,
    value: &Value,
    place: Place<'_>,
) -> bool {
    let mut found = Found::asking();
    check(schema, about, value, At { path: None, place }, &mut found);
    !found.any
}

/// Where in the arguments, and where in the schema, a check is.
#[derive(Clone, Copy, Default)]
struct At<'a> {
    path: Option<&'a Path<'a>>,
    place: Place<'a>,
}

/// The way from the root to a value. Written out only when there is something to report.
struct Path<'a> {
    name: Name<'a>,
    before: Option<&'a Path<'a>>,
}

enum Name<'a> {
    Key(&'a str),
    Index(usize),
}

impl<'a> At<'a> {
    fn member(self, key: &'a str) -> Path<'a> {
        Path { name: Name::Key(key), before: self.path }
    }

    fn item(self, index: usize) -> Path<'a> {
        Path { name: Name::Index(index), before: self.path }
    }

    fn inside(self, path: &'a Path<'a>) -> Self {
        Self { path: Some(path), place: self.place.inside() }
    }

    fn beside(self) -> Self {
        Self { path: self.path, place: self.place.beside() }
    }
}

/// What a check finds: whether there is anything, and what, if somebody wants to read it.
struct Found {
    any: bool,
    is_listing: bool,
    /// Each problem with the length of its path: 0 for the root, whatever it is called.
    list: Vec<(usize, Problem)>,
}

impl Found {
    fn listing() -> Self {
        Self { any: false, is_listing: true, list: Vec::new() }
    }

    fn asking() -> Self {
        Self { any: false, is_listing: false, list: Vec::new() }
    }

    /// Whether the outcome is settled: the question was whether, and the answer is yes.
    fn is_settled(&self) -> bool {
        self.any && !self.is_listing
    }

    fn add(&mut self, path: Option<&Path<'_>>, message: impl FnOnce() -> String) {
        self.any = true;
        if !self.is_listing {
            return;
        }
        let mut names: Vec<String> = std::iter::successors(path, |path| path.before)
            .map(|path| match path.name {
                Name::Key(key) => key.to_owned(),
                Name::Index(index) => index.to_string(),
            })
            .collect();
        names.reverse();
        let path = names.join(".");
        let length = if names.is_empty() { 0 } else { 1 + path.encode_utf16().count() };
        let path = if names.is_empty() { ROOT.to_owned() } else { path };
        self.list.push((length, Problem { path, message: message() }));
    }
}

fn check<'s>(schema: &Schema<'s>, about: &'s Value, value: &Value, at: At<'_>, found: &mut Found) {
    if found.is_settled() || !schema.step(at.place) {
        return;
    }
    let keywords = match about {
        Value::Object(keywords) => keywords,
        Value::Bool(false) => {
            return found.add(at.path, || "no value is allowed here".to_owned());
        }
        _ => return,
    };
    if let Some(types) = Types::of(keywords)
        && !types.as_slice().iter().any(|kind| kind.accepts(value))
    {
        return found.add(at.path, || {
            let names: Vec<_> = types.as_slice().iter().map(|kind| kind.name()).collect();
            format!("expected {}, got {}", names.join(" or "), json::type_name(value))
        });
    }
    check_literals(keywords, value, at, found);
    match value {
        Value::String(text) => scalar::check_text(schema, keywords, text, at, found),
        Value::Number(number) => scalar::check_number(keywords, number, at, found),
        Value::Array(items) => list::check_list(schema, keywords, items, at, found),
        Value::Object(members) => object::check_object(schema, keywords, members, value, at, found),
        Value::Null | Value::Bool(_) => {}
    }
    combine::check_combinations(schema, keywords, value, at, found);
    if let Some(reference) = reference(about) {
        match schema.follow(reference, at.place) {
            Target::Schema(target) => {
                let hop = at.place.hop(target);
                let there = At { path: at.path, place: at.place.after(&hop) };
                check(schema, target, value, there, found);
            }
            // Under `not` the repetition must not count as a match.
            Target::Cycle => schema.skip(),
            Target::Nowhere => found.add(at.path, || format!("unresolved reference {reference}")),
        }
    }
}

fn check_literals(keywords: &Map<String, Value>, value: &Value, at: At<'_>, found: &mut Found) {
    if let Some(literals @ Value::Array(list)) = keywords.get("enum")
        && !list.iter().any(|literal| json::equal(literal, value))
    {
        found.add(at.path, || format!("expected one of {}", json::compact(literals)));
    }
    if let Some(literal) = keywords.get("const")
        && !json::equal(literal, value)
    {
        found.add(at.path, || format!("expected {}", json::compact(literal)));
    }
}
