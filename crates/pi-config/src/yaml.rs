//! YAML as a JSON value, with the place of every node.
//!
//! The events of the parser build the value on a stack of their own, so that depth costs no stack.
//! Depth and size are bounded: a value that is dropped or compared later is walked recursively, and
//! aliases can multiply a small text.

use std::collections::{BTreeMap, HashMap};

use pi_schema::child_pointer;
use saphyr_parser::{Event, Parser, ScalarStyle, Tag};
use serde_json::{Map, Number, Value};

/// A line and a column, from 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)] // The type says it.
pub struct Place {
    pub line: usize,
    pub column: usize,
}

/// Places by JSON pointer. The place of a value in a mapping is that of its key.
pub type Places = BTreeMap<String, Place>;

/// Deepest nesting of mappings and sequences.
const DEEPEST: usize = 64;
/// Maximum number of nodes, with those that aliases repeat.
const MOST_NODES: usize = 100_000;

/// Invalid YAML, with the place of the problem.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at line {}, column {}", place.line, place.column)]
#[non_exhaustive]
pub struct InvalidYaml {
    /// The place of the problem.
    pub place: Place,
    /// The problem.
    pub reason: String,
}

/// The parts of YAML that are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Mappings with texts as keys, sequences and scalars. Anything else is an error.
    Plain,
    /// Also tags, merge keys and keys of any type, as texts.
    Lenient,
}

/// A node with the places of its descendants, by pointers that begin at the node.
#[derive(Debug, Clone)]
struct Node {
    value: Value,
    places: Places,
}

/// A mapping or sequence that has not ended.
struct Open {
    kind: Kind,
    anchor: usize,
    place: Place,
    places: Places,
}

enum Kind {
    Mapping { map: Map<String, Value>, key: Option<(String, Place)> },
    Sequence(Vec<Value>),
}

/// Parses a text with one YAML document. An empty text is null.
pub fn parse(text: &str, dialect: Dialect) -> Result<(Value, Places), InvalidYaml> {
    let mut open: Vec<Open> = Vec::new();
    let mut anchors: HashMap<usize, Node> = HashMap::new();
    let mut root: Option<Node> = None;
    let (mut nodes, mut documents) = (0, 0);
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| InvalidYaml {
            place: place(error.marker().line(), error.marker().col()),
            reason: error.info().to_owned(),
        })?;
        let here = place(span.start.line(), span.start.col());
        let fail = |reason: &str| Err(InvalidYaml { place: here, reason: reason.to_owned() });
        let (node, anchor, start) = match event {
            Event::DocumentStart(_) => {
                documents += 1;
                if documents > 1 {
                    return fail("a second document starts; only one is allowed");
                }
                continue;
            }
            Event::MappingStart(anchor, ref tag) | Event::SequenceStart(anchor, ref tag) => {
                if dialect == Dialect::Plain && tag.as_deref().is_some_and(|tag| !is_core(tag)) {
                    return fail("tags are not supported");
                }
                if open.len() >= DEEPEST {
                    return fail("the nesting is too deep");
                }
                let kind = match event {
                    Event::MappingStart(..) => Kind::Mapping { map: Map::new(), key: None },
                    _ => Kind::Sequence(Vec::new()),
                };
                open.push(Open { kind, anchor, place: here, places: Places::new() });
                continue;
            }
            Event::MappingEnd | Event::SequenceEnd => {
                let Some(ended) = open.pop() else { continue };
                let value = match ended.kind {
                    Kind::Mapping { map, .. } => Value::Object(map),
                    Kind::Sequence(items) => Value::Array(items),
                };
                (Node { value, places: ended.places }, ended.anchor, ended.place)
            }
            Event::Alias(id) => match anchors.get(&id) {
                Some(node) => (node.clone(), 0, here),
                None => return fail("an alias refers to a value that contains it"),
            },
            Event::Scalar(text, style, anchor, tag) => {
                let is_key =
                    matches!(open.last(), Some(Open { kind: Kind::Mapping { key: None, .. }, .. }));
                let value = if is_key {
                    Value::String(text.into_owned())
                } else {
                    match scalar(&text, style, tag.as_deref(), dialect) {
                        Ok(value) => value,
                        Err(reason) => return fail(reason),
                    }
                };
                (Node { value, places: Places::new() }, anchor, here)
            }
            _ => continue,
        };
        nodes += 1 + node.places.len();
        if nodes > MOST_NODES {
            return fail("the document has too many values");
        }
        if anchor > 0 {
            anchors.insert(anchor, node.clone());
        }
        match open.last_mut() {
            None => root = Some(node),
            Some(parent) => {
                if let Err(reason) = parent.add(node, start, dialect) {
                    return Err(InvalidYaml { place: start, reason });
                }
            }
        }
    }
    Ok(root.map(|root| (root.value, root.places)).unwrap_or_default())
}

impl Open {
    /// Adds a key, a value or an item.
    fn add(&mut self, node: Node, start: Place, dialect: Dialect) -> Result<(), String> {
        let (name, place) = match &mut self.kind {
            Kind::Mapping { map, key: key @ None } => {
                let name = match node.value {
                    Value::String(name) => name,
                    other if dialect == Dialect::Lenient => other.to_string(),
                    _ => return Err("a key must be a plain text".to_owned()),
                };
                if map.contains_key(&name) {
                    return Err(format!("duplicate key `{name}`"));
                }
                if name == "<<" && dialect == Dialect::Plain {
                    return Err("merge keys (<<) are not supported".to_owned());
                }
                *key = Some((name, start));
                return Ok(());
            }
            Kind::Mapping { map, key } => {
                let (name, place) = key.take().unwrap_or_default();
                map.insert(name.clone(), node.value);
                (name, place)
            }
            Kind::Sequence(items) => {
                items.push(node.value);
                ((items.len() - 1).to_string(), start)
            }
        };
        let pointer = child_pointer("", &name);
        for (below, place) in node.places {
            self.places.insert(format!("{pointer}{below}"), place);
        }
        self.places.insert(pointer, place);
        Ok(())
    }
}

fn place(line: usize, column: usize) -> Place {
    Place { line, column: column + 1 }
}

fn is_core(tag: &Tag) -> bool {
    tag.is_yaml_core_schema() && matches!(tag.suffix.as_str(), "map" | "seq" | "str")
}

/// Returns the value of a scalar in the core schema of YAML 1.2.
fn scalar(
    text: &str,
    style: ScalarStyle,
    tag: Option<&Tag>,
    dialect: Dialect,
) -> Result<Value, &'static str> {
    if let Some(tag) = tag {
        let is_text = dialect == Dialect::Lenient
            || is_core(tag)
            || (tag.handle == "!" && tag.suffix.is_empty());
        return if is_text { Ok(text.into()) } else { Err("tags are not supported") };
    }
    if style != ScalarStyle::Plain {
        return Ok(text.into());
    }
    Ok(match text {
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        _ => number(text).map_or_else(|| text.into(), Value::Number),
    })
}

/// Returns the number that a plain scalar is. Infinities are texts: JSON has no value for them.
fn number(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let numeric = unsigned.starts_with(|c: char| c.is_ascii_digit())
        || unsigned.strip_prefix('.')?.starts_with(|c: char| c.is_ascii_digit());
    if !numeric {
        return None;
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            return u64::from_str_radix(digits, radix).ok().map(Number::from);
        }
    }
    let plain = text.strip_prefix('+').unwrap_or(text);
    let whole = plain.parse::<i64>().map(Number::from);
    match whole.or_else(|_| plain.parse::<u64>().map(Number::from)) {
        Ok(whole) => Some(whole),
        Err(_) => Number::from_f64(plain.parse().ok()?),
    }
}
