//! YAML to JSON, for front matter.

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

use crate::error::NativeError;
use crate::host::Natives;

/// Depth at which a document is refused.
const DEEPEST: usize = 100;
/// Number of values at which a document is refused: aliases can multiply.
const MOST_VALUES: usize = 100_000;

pub(super) const FUNCTIONS: Natives =
    &[("parse", |call| call.reply(parse(&call.text(0)?).map_err(NativeError::new)?))];

/// A collection that is not complete.
enum Open {
    List(Vec<Value>),
    Table { entries: Map<String, Value>, key: Option<String> },
}

/// Parses the first document of a text; an empty text is null.
fn parse(text: &str) -> Result<Value, String> {
    let mut open: Vec<(Open, usize)> = Vec::new();
    let mut anchors: std::collections::BTreeMap<usize, Value> = Default::default();
    let mut values = 0;
    for event in Parser::new_from_str(text) {
        let (event, _) = event.map_err(|error| {
            let (line, column) = (error.marker().line(), error.marker().col() + 1);
            format!("{} at line {line}, column {column}", error.info())
        })?;
        let (value, anchor) = match event {
            Event::SequenceStart(anchor, _) => {
                open.push((Open::List(Vec::new()), anchor));
                (None, 0)
            }
            Event::MappingStart(anchor, _) => {
                open.push((Open::Table { entries: Map::new(), key: None }, anchor));
                (None, 0)
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some((Open::List(items), anchor)) => (Some(Value::Array(items)), anchor),
                Some((Open::Table { entries, .. }, anchor)) => {
                    (Some(Value::Object(entries)), anchor)
                }
                None => (None, 0),
            },
            Event::Scalar(text, style, anchor, tag) => {
                let is_plain = style == ScalarStyle::Plain && tag.is_none();
                let value = if is_plain { scalar(&text) } else { Value::from(text.as_ref()) };
                (Some(value), anchor)
            }
            Event::Alias(anchor) => (Some(anchors.get(&anchor).cloned().unwrap_or_default()), 0),
            _ => (None, 0),
        };
        if open.len() > DEEPEST {
            return Err(format!("the YAML is nested deeper than {DEEPEST} levels"));
        }
        let Some(value) = value else { continue };
        values += count(&value);
        if values > MOST_VALUES {
            return Err(format!("the YAML has more than {MOST_VALUES} values"));
        }
        if anchor > 0 {
            anchors.insert(anchor, value.clone());
        }
        match open.last_mut() {
            None => return Ok(value),
            Some((Open::List(items), _)) => items.push(value),
            Some((Open::Table { entries, key }, _)) => match key.take() {
                Some(key) => drop(entries.insert(key, value)),
                None => *key = Some(name_of(value)),
            },
        }
    }
    Ok(Value::Null)
}

fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(count).sum::<usize>(),
        _ => 1,
    }
}

/// Returns the name of a property for a key, which may be of any type.
fn name_of(key: Value) -> String {
    match key {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Returns the value of an unquoted scalar in the core schema of YAML 1.2.
fn scalar(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let radix = |prefix: &str, radix: u32| {
        text.strip_prefix(prefix).and_then(|digits| u64::from_str_radix(digits, radix).ok())
    };
    if let Some(number) = radix("0x", 16).or_else(|| radix("0o", 8)) {
        return Value::from(number);
    }
    let is_number = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned.contains(|c: char| c.is_ascii_digit());
    if is_number {
        if let Ok(number) = text.trim_start_matches('+').parse::<i64>() {
            return Value::from(number);
        }
        if let Some(number) = text.parse::<f64>().ok().and_then(Number::from_f64) {
            return Value::Number(number);
        }
    }
    Value::from(text)
}
