//! Validation of a value against a JSON Schema.
//!
//! The keywords of a schema are checked in the order of the TypeScript pi: `type` (and no more if
//! it fails), the literals, the keywords for the type of the value, the combinations, the
//! references. A malformed keyword constrains nothing.

mod combine;
mod container;
mod evaluated;
mod scalar;

use serde_json::{Map, Value};

use super::document::{Cursor, Document, Keywords as Checks, Target, Types};
use super::json;
use super::mismatch::{Detail, Mismatch};

type Keywords = Map<String, Value>;

/// The result of a check.
#[derive(Debug)]
#[non_exhaustive]
pub struct Checked<'s, 'v> {
    /// The mismatches; none if the value is valid.
    pub mismatches: Vec<Mismatch<'s, 'v>>,
    /// False if the steps of the check ran out, so that an empty list proves nothing.
    pub is_complete: bool,
    /// False if a constraint counts as satisfied because it is unsupported or refers to itself.
    pub is_certain: bool,
}

/// Checks a value against a schema.
pub fn check<'s, 'v>(schema: &'s Value, value: &'v Value) -> Checked<'s, 'v> {
    check_in(&Document::new(schema, value, Checks::All), value)
}

/// Checks a value against a schema whose steps are also used for coercion.
pub(crate) fn check_in<'s, 'v>(document: &Document<'s>, value: &'v Value) -> Checked<'s, 'v> {
    let mut validator = Validator::new(document, Goal::List);
    let (_, is_certain) =
        document.is_certain(|| validator.check(document.root, value, Location::default()));
    Checked { mismatches: validator.mismatches, is_complete: !document.gave_up(), is_certain }
}

/// Returns true if a value satisfies `node`, a schema within the document.
pub(super) fn accepts<'s>(
    document: &Document<'s>,
    node: &'s Value,
    value: &Value,
    cursor: Cursor<'_>,
) -> bool {
    let mut validator = Validator::new(document, Goal::Decide);
    validator.check(node, value, Location { path: None, cursor });
    !validator.failed
}

/// The position of a check in the value and in the schema.
#[derive(Clone, Copy, Default)]
struct Location<'a> {
    path: Option<&'a Path<'a>>,
    cursor: Cursor<'a>,
}

/// The path from the root to a value. It becomes text only for a mismatch.
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

/// A schema with keywords, and the value that it is applied to.
#[derive(Clone, Copy)]
struct Node<'a, 's, 'v> {
    schema: &'s Value,
    keywords: &'s Keywords,
    value: &'v Value,
    at: Location<'a>,
}

impl<'s> Node<'_, 's, '_> {
    fn get(&self, keyword: &str) -> Option<&'s Value> {
        self.keywords.get(keyword)
    }
}

/// The purpose of a check.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Goal {
    /// List all mismatches.
    List,
    /// Find out whether there is a mismatch.
    Decide,
}

struct Validator<'d, 's, 'v> {
    document: &'d Document<'s>,
    goal: Goal,
    failed: bool,
    mismatches: Vec<Mismatch<'s, 'v>>,
}

impl<'d, 's, 'v> Validator<'d, 's, 'v> {
    fn new(document: &'d Document<'s>, goal: Goal) -> Self {
        Self { document, goal, failed: false, mismatches: Vec::new() }
    }

    /// Returns true if no further check can change the result.
    fn is_settled(&self) -> bool {
        self.failed && self.goal == Goal::Decide
    }

    /// Reports that a value violates the keyword with the value `expected`.
    fn report(
        &mut self,
        node: Node<'_, 's, 'v>,
        keyword: &'static str,
        expected: &'s Value,
        detail: Detail<'s, 'v>,
    ) {
        self.report_at(node.at.path, node.schema, node.value, keyword, expected, detail);
    }

    fn report_at(
        &mut self,
        path: Option<&Path<'_>>,
        schema: &'s Value,
        value: &'v Value,
        keyword: &'static str,
        expected: &'s Value,
        detail: Detail<'s, 'v>,
    ) {
        self.failed = true;
        if self.goal == Goal::Decide {
            return;
        }
        let mut path: Vec<String> = std::iter::successors(path, |path| path.parent)
            .map(|path| match path.name {
                Name::Key(key) => key.to_owned(),
                Name::Index(index) => index.to_string(),
            })
            .collect();
        path.reverse();
        self.mismatches.push(Mismatch { path, keyword, schema, expected, value, detail });
    }

    fn accepts(&self, schema: &'s Value, value: &Value, cursor: Cursor<'_>) -> bool {
        accepts(self.document, schema, value, cursor)
    }

    fn check(&mut self, schema: &'s Value, value: &'v Value, at: Location<'_>) {
        if self.is_settled() || !self.document.step(at.cursor) {
            return;
        }
        let keywords = match schema {
            Value::Object(keywords) => keywords,
            Value::Bool(false) => {
                return self.report_at(at.path, schema, value, "", schema, Detail::None);
            }
            _ => return,
        };
        let node = Node { schema, keywords, value, at };
        if let (Some(types), Some(expected)) = (Types::of(keywords), node.get("type"))
            && !types.as_slice().iter().any(|kind| kind.accepts(value))
        {
            return self.report(node, "type", expected, Detail::None);
        }
        self.check_literals(node);
        match value {
            Value::String(text) => self.check_text(node, text),
            Value::Number(number) => self.check_number(node, number),
            Value::Array(items) => self.check_list(node, items),
            Value::Object(members) => self.check_object(node, members),
            Value::Null | Value::Bool(_) => {}
        }
        self.check_combinations(node);
        self.check_unevaluated(node);
        for keyword in self.document.references() {
            let Some(expected @ Value::String(reference)) = node.get(keyword) else { continue };
            match self.document.follow(reference, at.cursor) {
                Target::Schema(target) => {
                    let hop = at.cursor.hop(target);
                    let cursor = at.cursor.after(&hop);
                    self.check(target, value, Location { path: at.path, cursor });
                }
                // Under `not` the repetition must not count as a match.
                Target::Cycle => self.document.skip(),
                Target::Missing => self.report(node, keyword, expected, Detail::None),
            }
        }
    }

    fn check_literals(&mut self, node: Node<'_, 's, 'v>) {
        if let Some(literals @ Value::Array(list)) = node.get("enum")
            && !list.iter().any(|literal| json::equal(literal, node.value))
        {
            self.report(node, "enum", literals, Detail::None);
        }
        if let Some(literal) = node.get("const")
            && !json::equal(literal, node.value)
        {
            self.report(node, "const", literal, Detail::None);
        }
    }
}
