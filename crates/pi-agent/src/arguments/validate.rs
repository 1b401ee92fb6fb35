//! Validation of a value against a JSON Schema, in the order and the words of the TypeScript pi.
//!
//! The keywords of a node are checked in a fixed order: `type` (and no more if it fails), the
//! literals, the keywords for the type of the value, the combinations, the reference. A malformed
//! keyword constrains nothing.

mod combine;
mod container;
mod scalar;

use serde_json::{Map, Value};

use super::error::{Problem, ROOT};
use super::json;
use super::schema::{Cursor, Schema, Target, Types, reference};

type Keywords = Map<String, Value>;

/// Returns all problems of a value; none if the value is valid.
pub(super) fn problems(schema: &Schema<'_>, value: &Value) -> Vec<Problem> {
    let mut validator = Validator::new(schema, Goal::List);
    validator.check(schema.root, value, Location::default());
    let mut problems: Vec<Problem> =
        validator.problems.into_iter().map(|(_, problem)| problem).collect();
    // An incomplete check proves nothing, so it must not pass for a successful one.
    if problems.is_empty() && schema.gave_up() {
        let message = "too complex to check against the tool's schema".to_owned();
        problems.push(Problem { path: ROOT.to_owned(), message });
    }
    problems
}

/// Returns true if a value satisfies `node`, a schema within `schema`.
pub(super) fn accepts<'s>(
    schema: &Schema<'s>,
    node: &'s Value,
    value: &Value,
    cursor: Cursor<'_>,
) -> bool {
    let mut validator = Validator::new(schema, Goal::Decide);
    validator.check(node, value, Location { path: None, cursor });
    !validator.failed
}

/// The position of a check in the arguments and in the schema.
#[derive(Clone, Copy, Default)]
struct Location<'a> {
    path: Option<&'a Path<'a>>,
    cursor: Cursor<'a>,
}

/// The path from the root to a value. It becomes text only for a problem.
struct Path<'a> {
    name: Name<'a>,
    parent: Option<&'a Path<'a>>,
}

enum Name<'a> {
    Key(&'a str),
    Index(usize),
}

impl<'a> Location<'a> {
    fn key(self, key: &'a str) -> Path<'a> {
        Path { name: Name::Key(key), parent: self.path }
    }

    fn index(self, index: usize) -> Path<'a> {
        Path { name: Name::Index(index), parent: self.path }
    }

    fn child(self, path: &'a Path<'a>) -> Self {
        Self { path: Some(path), cursor: self.cursor.child() }
    }

    fn same_value(self) -> Self {
        Self { path: self.path, cursor: self.cursor.same_value() }
    }
}

/// The purpose of a check.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Goal {
    /// Describe all problems for the model.
    List,
    /// Find out whether there is a problem.
    Decide,
}

struct Validator<'v, 's> {
    schema: &'v Schema<'s>,
    goal: Goal,
    failed: bool,
    /// Each problem with the length of its path: 0 for the root, although its path has a name.
    problems: Vec<(usize, Problem)>,
}

impl<'v, 's> Validator<'v, 's> {
    fn new(schema: &'v Schema<'s>, goal: Goal) -> Self {
        Self { schema, goal, failed: false, problems: Vec::new() }
    }

    /// Returns true if no further check can change the result.
    fn is_settled(&self) -> bool {
        self.failed && self.goal == Goal::Decide
    }

    fn report(&mut self, path: Option<&Path<'_>>, message: impl FnOnce() -> String) {
        self.failed = true;
        if self.goal == Goal::Decide {
            return;
        }
        let mut names: Vec<String> = std::iter::successors(path, |path| path.parent)
            .map(|path| match path.name {
                Name::Key(key) => key.to_owned(),
                Name::Index(index) => index.to_string(),
            })
            .collect();
        names.reverse();
        let (length, path) = match names.join(".") {
            _ if names.is_empty() => (0, ROOT.to_owned()),
            path => (1 + path.encode_utf16().count(), path),
        };
        self.problems.push((length, Problem { path, message: message() }));
    }

    fn accepts(&self, node: &'s Value, value: &Value, cursor: Cursor<'_>) -> bool {
        accepts(self.schema, node, value, cursor)
    }

    fn check(&mut self, node: &'s Value, value: &Value, at: Location<'_>) {
        if self.is_settled() || !self.schema.step(at.cursor) {
            return;
        }
        let keywords = match node {
            Value::Object(keywords) => keywords,
            Value::Bool(false) => {
                return self.report(at.path, || "no value is allowed here".to_owned());
            }
            _ => return,
        };
        if let Some(types) = Types::of(keywords)
            && !types.as_slice().iter().any(|kind| kind.accepts(value))
        {
            return self.report(at.path, || {
                let names: Vec<_> = types.as_slice().iter().map(|kind| kind.name()).collect();
                format!("expected {}, got {}", names.join(" or "), json::type_name(value))
            });
        }
        self.check_literals(keywords, value, at);
        match value {
            Value::String(text) => self.check_text(keywords, text, at),
            Value::Number(number) => self.check_number(keywords, number, at),
            Value::Array(items) => self.check_list(keywords, items, at),
            Value::Object(members) => self.check_object(keywords, members, value, at),
            Value::Null | Value::Bool(_) => {}
        }
        self.check_combinations(keywords, value, at);
        if let Some(reference) = reference(node) {
            match self.schema.follow(reference, at.cursor) {
                Target::Schema(target) => {
                    let hop = at.cursor.hop(target);
                    let cursor = at.cursor.after(&hop);
                    self.check(target, value, Location { path: at.path, cursor });
                }
                // Under `not` the repetition must not count as a match.
                Target::Cycle => self.schema.skip(),
                Target::Missing => {
                    self.report(at.path, || format!("unresolved reference {reference}"));
                }
            }
        }
    }

    fn check_literals(&mut self, keywords: &'s Keywords, value: &Value, at: Location<'_>) {
        if let Some(literals @ Value::Array(list)) = keywords.get("enum")
            && !list.iter().any(|literal| json::equal(literal, value))
        {
            self.report(at.path, || format!("expected one of {}", json::compact(literals)));
        }
        if let Some(literal) = keywords.get("const")
            && !json::equal(literal, value)
        {
            self.report(at.path, || format!("expected {}", json::compact(literal)));
        }
    }
}
