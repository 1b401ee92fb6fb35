//! A schema as the checks see it: where references lead, what patterns match, and how much work
//! may still be spent on it.
//!
//! Nothing here reads a keyword that constrains a value; that is `validate` and `coerce`.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use serde_json::{Map, Value};

use super::json;
use super::pattern::Pattern;

/// How many schemas may be inside one another. Enough for arguments as deep as serde_json reads
/// them in ordinary schemas, and within the stack of a worker thread.
const MAX_DEPTH: u16 = 256;

/// Steps allowed on any arguments, and for each value in them on top. Unions of unions of
/// references can ask for a number of steps exponential in the size of the schema.
const BASE_STEPS: u64 = 250_000;
const STEPS_PER_VALUE: u64 = 100;

/// The schema of one tool, during one check.
pub(super) struct Schema<'s> {
    pub(super) root: &'s Value,
    /// Schemas that carry a name of their own: `$id` as it is, `$anchor` after a `#`.
    named: OnceCell<HashMap<String, &'s Value>>,
    patterns: RefCell<HashMap<String, Option<Rc<Pattern>>>>,
    steps_left: Cell<u64>,
    gave_up: Cell<bool>,
    skipped: Cell<u32>,
}

/// Where a reference leads.
pub(super) enum Target<'s> {
    Schema(&'s Value),
    /// To a schema that is being applied to this very value already: nothing to add.
    Cycle,
    Nowhere,
}

impl<'s> Schema<'s> {
    pub(super) fn new(root: &'s Value, arguments: &Value) -> Self {
        Self {
            root,
            named: OnceCell::new(),
            patterns: RefCell::default(),
            steps_left: Cell::new(BASE_STEPS + STEPS_PER_VALUE * weight(arguments)),
            gave_up: Cell::new(false),
            skipped: Cell::new(0),
        }
    }

    /// Takes a step at `place`. `false` means that there are none left, or none so deep.
    pub(super) fn step(&self, place: Place<'_>) -> bool {
        self.spend(1) && {
            let shallow = place.depth < MAX_DEPTH;
            if !shallow {
                self.gave_up.set(true);
            }
            shallow
        }
    }

    /// Takes the steps that copying `value` costs.
    pub(super) fn step_for_copy(&self, value: &Value) -> bool {
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

    /// Whether steps ran out, so that what was found is not the whole truth.
    pub(super) fn gave_up(&self) -> bool {
        self.gave_up.get()
    }

    /// Notes that a constraint was not checked because we cannot.
    pub(super) fn skip(&self) {
        self.skipped.set(self.skipped.get().saturating_add(1));
    }

    /// Runs `judge` and says whether it checked every constraint it met. An unchecked constraint
    /// counts as met, which must not turn into a failure under `not`.
    pub(super) fn surely<T>(&self, judge: impl FnOnce() -> T) -> (T, bool) {
        let before = self.skipped.get();
        let verdict = judge();
        (verdict, self.skipped.get() == before && !self.gave_up())
    }

    /// The pattern, compiled once per check; nothing if we cannot match it.
    pub(super) fn pattern(&self, source: &str) -> Option<Rc<Pattern>> {
        if let Some(known) = self.patterns.borrow().get(source) {
            return known.clone();
        }
        let pattern = Pattern::compile(source).map(Rc::new);
        self.patterns.borrow_mut().insert(source.to_owned(), pattern.clone());
        pattern
    }

    /// Follows a reference met at `place`.
    pub(super) fn follow(&self, reference: &str, place: Place<'_>) -> Target<'s> {
        match self.resolve(reference) {
            Some(target) if place.is_applying(target) => Target::Cycle,
            Some(target) => Target::Schema(target),
            None => Target::Nowhere,
        }
    }

    /// The schema behind at most one reference, to look at rather than to apply.
    pub(super) fn behind_reference(&self, schema: &'s Value) -> &'s Value {
        reference(schema).and_then(|reference| self.resolve(reference)).unwrap_or(schema)
    }

    fn resolve(&self, reference: &str) -> Option<&'s Value> {
        match reference.strip_prefix('#') {
            Some("") => Some(self.root),
            Some(pointer) if pointer.starts_with('/') => {
                self.root.pointer(&percent_decoded(pointer)?)
            }
            None if reference.is_empty() => Some(self.root),
            _ => self.named.get_or_init(|| named_schemas(self.root)).get(reference).copied(),
        }
    }
}

/// A place in the walk: how deep, and which references led to the current value.
#[derive(Clone, Copy, Default)]
pub(super) struct Place<'a> {
    depth: u16,
    hop: Option<&'a Hop<'a>>,
}

/// A reference followed without moving to another value.
pub(super) struct Hop<'a> {
    target: &'a Value,
    before: Option<&'a Hop<'a>>,
}

impl<'a> Place<'a> {
    /// Another schema for the same value.
    pub(super) fn beside(self) -> Self {
        Self { depth: self.depth.saturating_add(1), hop: self.hop }
    }

    /// A schema for a value inside this one. References start afresh: a recursive schema meets
    /// itself on the way down, and rightly so.
    pub(super) fn inside(self) -> Self {
        Self { depth: self.depth.saturating_add(1), hop: None }
    }

    pub(super) fn hop(self, target: &'a Value) -> Hop<'a> {
        Hop { target, before: self.hop }
    }

    pub(super) fn after(self, hop: &'a Hop<'a>) -> Self {
        Self { depth: self.depth.saturating_add(1), hop: Some(hop) }
    }

    fn is_applying(self, target: &Value) -> bool {
        std::iter::successors(self.hop, |hop| hop.before)
            .any(|hop| std::ptr::eq(hop.target, target))
    }
}

/// The reference of a schema, if it has one.
pub(super) fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref").and_then(Value::as_str)
}

/// What `type` allows: at least one type, each known. Anything else is no constraint.
pub(super) enum Types {
    One(Type),
    Any(Vec<Type>),
}

impl Types {
    pub(super) fn of(schema: &Map<String, Value>) -> Option<Self> {
        match schema.get("type")? {
            Value::Array(names) if !names.is_empty() => {
                names.iter().map(Type::named).collect::<Option<_>>().map(Self::Any)
            }
            name => Type::named(name).map(Self::One),
        }
    }

    pub(super) fn as_slice(&self) -> &[Type] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Any(several) => several,
        }
    }
}

/// A type of JSON Schema.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    String,
    Number,
    Integer,
    Boolean,
    Null,
    Array,
    Object,
}

impl Type {
    fn named(name: &Value) -> Option<Self> {
        Some(match name.as_str()? {
            "string" => Self::String,
            "number" => Self::Number,
            "integer" => Self::Integer,
            "boolean" => Self::Boolean,
            "null" => Self::Null,
            "array" => Self::Array,
            "object" => Self::Object,
            _ => return None,
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Integer => "integer",
            Self::Boolean => "boolean",
            Self::Null => "null",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    pub(super) fn accepts(self, value: &Value) -> bool {
        let name = json::type_name(value);
        name == self.name() || (self == Self::Number && name == "integer")
    }
}

/// How many values a value consists of.
fn weight(value: &Value) -> u64 {
    1 + match value {
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(members) => members.values().map(weight).sum(),
        _ => 0,
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        let hex =
            |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        match (first, tail) {
            (b'%', [high, low, tail @ ..]) => {
                bytes.push(hex(*high)? * 16 + hex(*low)?);
                rest = tail;
            }
            _ => bytes.push(*first),
        }
    }
    String::from_utf8(bytes).ok()
}

fn named_schemas(root: &Value) -> HashMap<String, &Value> {
    let mut named = HashMap::new();
    let mut waiting = vec![root];
    while let Some(value) = waiting.pop() {
        if let Some(id) = value.get("$id").and_then(Value::as_str) {
            named.entry(id.to_owned()).or_insert(value);
        }
        if let Some(anchor) = value.get("$anchor").and_then(Value::as_str) {
            named.entry(format!("#{anchor}")).or_insert(value);
        }
        match value {
            Value::Array(items) => waiting.extend(items),
            Value::Object(members) => waiting.extend(members.values()),
            _ => {}
        }
    }
    named
}
