//! A schema during one check: its references, its compiled patterns, and the steps that are left.
//!
//! Nothing here evaluates a keyword that constrains a value; `validate` and `coerce` do.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use serde_json::{Map, Value};

use super::json;
use super::pattern::Pattern;

/// The depth to which schemas are followed. It suffices for arguments as deep as serde_json parses
/// them, in ordinary schemas, and stays within the stack of a worker thread.
const MAX_DEPTH: u16 = 256;

/// Steps that a check may take: a base, and more for each value of the arguments. Unions of unions
/// of references can require a number of steps that is exponential in the size of the schema.
const BASE_STEPS: u64 = 250_000;
const STEPS_PER_VALUE: u64 = 100;

/// The schema of a tool, during one check.
pub(crate) struct Document<'s> {
    pub(crate) root: &'s Value,
    pub(crate) keywords: Keywords,
    /// Schemas by name: an `$id`, or an `$anchor` after a `#`.
    named: OnceCell<HashMap<String, &'s Value>>,
    patterns: RefCell<HashMap<String, Option<Rc<Pattern>>>>,
    steps_left: Cell<u64>,
    gave_up: Cell<bool>,
    skipped: Cell<u32>,
}

/// The keywords that are checked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keywords {
    All,
    /// All but those that the TypeScript pi ignores in the schemas of tools: unevaluated parts,
    /// dynamic references and the exclusive limits of draft 4.
    OfTools,
}

/// The target of a reference.
pub(crate) enum Target<'s> {
    Schema(&'s Value),
    /// A schema that is being applied to the same value already.
    Cycle,
    Missing,
}

impl<'s> Document<'s> {
    pub(crate) fn new(root: &'s Value, value: &Value, keywords: Keywords) -> Self {
        Self {
            root,
            keywords,
            named: OnceCell::new(),
            patterns: RefCell::default(),
            steps_left: Cell::new(BASE_STEPS + STEPS_PER_VALUE * weight(value)),
            gave_up: Cell::new(false),
            skipped: Cell::new(0),
        }
    }

    /// Takes a step. Returns false if no steps are left or the schema is too deep.
    pub(crate) fn step(&self, cursor: Cursor<'_>) -> bool {
        if cursor.depth >= MAX_DEPTH {
            self.gave_up.set(true);
            return false;
        }
        self.spend(1)
    }

    /// Takes the steps for copying `value`.
    pub(crate) fn step_for_copy(&self, value: &Value) -> bool {
        self.spend(weight(value))
    }

    fn spend(&self, steps: u64) -> bool {
        match self.steps_left.get().checked_sub(steps) {
            Some(left) => {
                self.steps_left.set(left);
                true
            }
            None => {
                self.steps_left.set(0);
                self.gave_up.set(true);
                false
            }
        }
    }

    /// Returns true if steps ran out, so that the result is incomplete.
    pub(crate) fn gave_up(&self) -> bool {
        self.gave_up.get()
    }

    /// Returns the keywords that apply another schema. A dynamic reference leads to its initial
    /// target.
    pub(super) fn references(&self) -> &'static [&'static str] {
        match self.keywords {
            Keywords::All => &["$ref", "$dynamicRef", "$recursiveRef"],
            Keywords::OfTools => &["$ref"],
        }
    }

    /// Records that a constraint was not checked because it is unsupported.
    pub(crate) fn skip(&self) {
        self.skipped.set(self.skipped.get().saturating_add(1));
    }

    /// Runs `test`, and returns with its result whether every constraint was checked. An unchecked
    /// constraint counts as satisfied, which must not become a failure under `not`.
    pub(crate) fn is_certain<T>(&self, test: impl FnOnce() -> T) -> (T, bool) {
        let before = self.skipped.get();
        let result = test();
        (result, self.skipped.get() == before && !self.gave_up())
    }

    /// Returns the pattern, compiled once per check, or `None` if it is unsupported.
    pub(super) fn pattern(&self, source: &str) -> Option<Rc<Pattern>> {
        if let Some(known) = self.patterns.borrow().get(source) {
            return known.clone();
        }
        let pattern = Pattern::compile(source).map(Rc::new);
        self.patterns.borrow_mut().insert(source.to_owned(), pattern.clone());
        pattern
    }

    /// Returns the target of a reference.
    pub(crate) fn follow(&self, reference: &str, cursor: Cursor<'_>) -> Target<'s> {
        match self.resolve(reference) {
            Some(target) if cursor.is_applying(target) => Target::Cycle,
            Some(target) => Target::Schema(target),
            None => Target::Missing,
        }
    }

    /// Returns the target of a schema that is a reference, or else the schema itself. Chains of
    /// references are not followed.
    pub(crate) fn dereferenced(&self, schema: &'s Value) -> &'s Value {
        reference(schema).and_then(|reference| self.resolve(reference)).unwrap_or(schema)
    }

    /// Returns the schema that a reference names: a pointer or an anchor within the document, or
    /// within an embedded resource.
    pub(crate) fn resolve(&self, reference: &str) -> Option<&'s Value> {
        let named =
            |name: &str| self.named.get_or_init(|| named_schemas(self.root)).get(name).copied();
        let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let resource = if base.is_empty() { self.root } else { named(base)? };
        match fragment {
            "" => Some(resource),
            pointer if pointer.starts_with('/') => resource.pointer(&percent_decoded(pointer)?),
            anchor => named(&format!("#{anchor}")),
        }
    }
}

/// The position in the walk over a schema: its depth, and the references that are being applied to
/// the current value.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cursor<'a> {
    depth: u16,
    hop: Option<&'a Hop<'a>>,
}

/// A reference that was followed for the current value.
pub(crate) struct Hop<'a> {
    target: &'a Value,
    before: Option<&'a Hop<'a>>,
}

impl<'a> Cursor<'a> {
    /// Moves to another schema for the same value.
    pub(crate) fn same_value(self) -> Self {
        Self { depth: self.depth.saturating_add(1), hop: self.hop }
    }

    /// Moves to a schema for a member or item. References start afresh, since a recursive schema
    /// is applied again to values further inside.
    pub(crate) fn child(self) -> Self {
        Self { depth: self.depth.saturating_add(1), hop: None }
    }

    pub(crate) fn hop(self, target: &'a Value) -> Hop<'a> {
        Hop { target, before: self.hop }
    }

    pub(crate) fn after(self, hop: &'a Hop<'a>) -> Self {
        Self { depth: self.depth.saturating_add(1), hop: Some(hop) }
    }

    fn is_applying(self, target: &Value) -> bool {
        std::iter::successors(self.hop, |hop| hop.before)
            .any(|hop| std::ptr::eq(hop.target, target))
    }
}

/// Returns the reference of a schema.
pub(crate) fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref").and_then(Value::as_str)
}

/// Returns the value of a keyword that is a list, such as `anyOf`.
pub(crate) fn branches<'s>(keywords: &'s Map<String, Value>, keyword: &str) -> Option<&'s [Value]> {
    keywords.get(keyword).and_then(Value::as_array).map(Vec::as_slice)
}

/// The types that `type` allows: at least one, each known. Any other `type` constrains nothing.
pub(crate) enum Types {
    One(Type),
    Any(Vec<Type>),
}

impl Types {
    pub(crate) fn of(schema: &Map<String, Value>) -> Option<Self> {
        match schema.get("type")? {
            Value::Array(names) if !names.is_empty() => {
                names.iter().map(Type::named).collect::<Option<_>>().map(Self::Any)
            }
            name => Type::named(name).map(Self::One),
        }
    }

    pub(crate) fn as_slice(&self) -> &[Type] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Any(several) => several,
        }
    }
}

/// A type of JSON Schema.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    String,
    Number,
    Integer,
    Boolean,
    Null,
    Array,
    Object,
}

const TYPES: [(&str, Type); 7] = [
    ("string", Type::String),
    ("number", Type::Number),
    ("integer", Type::Integer),
    ("boolean", Type::Boolean),
    ("null", Type::Null),
    ("array", Type::Array),
    ("object", Type::Object),
];

impl Type {
    fn named(name: &Value) -> Option<Self> {
        TYPES.iter().find(|(known, _)| name == known).map(|(_, kind)| *kind)
    }

    pub(crate) fn name(self) -> &'static str {
        TYPES.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    pub(crate) fn accepts(self, value: &Value) -> bool {
        let name = json::type_name(value);
        name == self.name() || (self == Self::Number && name == "integer")
    }
}

/// Returns the number of values that a value consists of.
fn weight(value: &Value) -> u64 {
    1 + match value {
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(members) => members.values().map(weight).sum(),
        _ => 0,
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (code, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(code, 16).ok()?);
        bytes.extend(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

fn named_schemas(root: &Value) -> HashMap<String, &Value> {
    let mut named = HashMap::new();
    let mut pending = vec![root];
    while let Some(value) = pending.pop() {
        let name = |keyword| value.get(keyword).and_then(Value::as_str);
        if let Some(id) = name("$id") {
            named.entry(id.trim_end_matches('#').to_owned()).or_insert(value);
        }
        for anchor in ["$anchor", "$dynamicAnchor"].into_iter().filter_map(name) {
            named.entry(format!("#{anchor}")).or_insert(value);
        }
        match value {
            Value::Array(items) => pending.extend(items),
            Value::Object(members) => pending.extend(members.values()),
            _ => {}
        }
    }
    named
}
