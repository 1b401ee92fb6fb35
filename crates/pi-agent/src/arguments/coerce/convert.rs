//! Second pass: what a schema with one type, a literal, or a union makes of a value.

use serde_json::{Map, Number, Value};

use super::{branches, change_items, change_members};
use crate::arguments::schema::{Place, Schema, Target, Type, Types, reference};
use crate::arguments::validate::accepts;
use crate::arguments::{json, number};

pub(super) fn convert<'s>(
    schema: &Schema<'s>,
    about: &'s Value,
    value: Value,
    place: Place<'_>,
) -> Value {
    let Some(keywords) = about.as_object() else { return value };
    if !schema.step(place) {
        return value;
    }
    // A reference stands for its target; what is written beside it only validates.
    if let Some(reference) = reference(about) {
        return match schema.follow(reference, place) {
            Target::Schema(target) => {
                let hop = place.hop(target);
                convert(schema, target, value, place.after(&hop))
            }
            Target::Cycle | Target::Nowhere => value,
        };
    }
    if let Some(literal) = keywords.get("const") {
        return if reads_as(&value, literal) { literal.clone() } else { value };
    }
    if let Some(literals) = branches(keywords, "enum") {
        return to_one_of(schema, about, literals, value, place.beside());
    }
    let union = branches(keywords, "anyOf").or_else(|| branches(keywords, "oneOf"));
    match (union, branches(keywords, "allOf")) {
        (Some(union), _) => to_union(schema, about, keywords, union, value, place.beside()),
        (None, Some(parts)) => {
            let convert_to = |value, part| convert(schema, part, value, place.beside());
            to_members(schema, keywords, parts.iter().fold(value, convert_to), place)
        }
        (None, None) => to_kind(schema, keywords, value, place),
    }
}

/// What the schema describes. Without `type`, the keywords for members or items tell.
fn to_kind<'s>(
    schema: &Schema<'s>,
    keywords: &'s Map<String, Value>,
    value: Value,
    place: Place<'_>,
) -> Value {
    let has = |keyword, fits: fn(&Value) -> bool| keywords.get(keyword).is_some_and(fits);
    let kind = match Types::of(keywords) {
        Some(Types::One(kind)) => kind,
        Some(Types::Any(_)) => return value,
        None if has("properties", Value::is_object) => Type::Object,
        None if has("patternProperties", Value::is_object) => Type::Object,
        None if has("prefixItems", Value::is_array) => Type::Array,
        None if has("items", is_items) => Type::Array,
        None => return value,
    };
    match kind {
        Type::Object => to_members(schema, keywords, value, place),
        Type::Array => to_list(schema, keywords, value, place),
        scalar => to_scalar(scalar, &value).unwrap_or(value),
    }
}

/// Whether the value of `items` says anything.
fn is_items(items: &Value) -> bool {
    items.is_object() || items.is_array() || items.is_boolean()
}

/// The members of an object; anything else as it is.
fn to_members<'s>(
    schema: &Schema<'s>,
    keywords: &'s Map<String, Value>,
    value: Value,
    place: Place<'_>,
) -> Value {
    match value {
        Value::Object(members) => {
            Value::Object(change_members(schema, keywords, members, |about, member| {
                convert(schema, about, member, place.inside())
            }))
        }
        other => other,
    }
}

/// Whether a value is the literal, or another way to write it.
fn reads_as(value: &Value, literal: &Value) -> bool {
    let kind = match literal {
        Value::String(_) => Type::String,
        Value::Number(_) => Type::Number,
        Value::Bool(_) => Type::Boolean,
        Value::Null | Value::Array(_) | Value::Object(_) => return false,
    };
    to_scalar(kind, value).is_some_and(|converted| json::equal(&converted, literal))
}

/// The first of the literals that the value can be read as and that the whole schema takes.
fn to_one_of<'s>(
    schema: &Schema<'s>,
    whole: &'s Value,
    literals: &'s [Value],
    value: Value,
    place: Place<'_>,
) -> Value {
    if literals.iter().any(|literal| json::equal(literal, &value)) {
        return value;
    }
    let is_meant =
        |literal: &&Value| reads_as(&value, literal) && accepts(schema, whole, literal, place);
    literals.iter().find(is_meant).cloned().unwrap_or(value)
}

/// A value that no branch takes as it is becomes what the first branch makes of it that satisfies
/// the whole schema. Beside branches `type` only validates, but members are members.
fn to_union<'s>(
    schema: &Schema<'s>,
    whole: &'s Value,
    keywords: &'s Map<String, Value>,
    union: &'s [Value],
    value: Value,
    place: Place<'_>,
) -> Value {
    if union.iter().any(|branch| accepts(schema, branch, &value, place)) {
        return to_members(schema, keywords, value, place);
    }
    for branch in union {
        if !schema.step_for_copy(&value) {
            break;
        }
        let converted = convert(schema, branch, value.clone(), place);
        let converted = to_members(schema, keywords, converted, place);
        if accepts(schema, whole, &converted, place) {
            return converted;
        }
    }
    to_members(schema, keywords, value, place)
}

/// A value on its own is a list of one, except where the places of the list have meanings.
fn to_list<'s>(
    schema: &Schema<'s>,
    keywords: &'s Map<String, Value>,
    value: Value,
    place: Place<'_>,
) -> Value {
    let is_tuple =
        ["prefixItems", "items"].iter().any(|keyword| branches(keywords, keyword).is_some());
    let items = match value {
        Value::Array(items) => items,
        other if is_tuple => return other,
        other => vec![other],
    };
    Value::Array(change_items(keywords, items, |about, item| {
        convert(schema, about, item, place.inside())
    }))
}

/// The value as a scalar of the given type, if it can be read as one.
fn to_scalar(kind: Type, value: &Value) -> Option<Value> {
    match kind {
        Type::String => match value {
            Value::Number(number) => Some(Value::String(number::to_text(number))),
            Value::Bool(_) | Value::Null => Some(Value::String(value.to_string())),
            Value::String(_) => Some(value.clone()),
            Value::Array(_) | Value::Object(_) => None,
        },
        Type::Number => to_number(value).map(Value::Number),
        Type::Integer => {
            to_number(value).and_then(|number| number::truncate(&number)).map(Value::Number)
        }
        Type::Boolean => to_boolean(value).map(Value::Bool),
        Type::Null => is_nothing(value).then_some(Value::Null),
        Type::Array | Type::Object => None,
    }
}

fn to_number(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) => Some(number.clone()),
        Value::Bool(truth) => Some(Number::from(u8::from(*truth))),
        Value::Null => Some(Number::from(0)),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Some(Number::from(1)),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Some(Number::from(0)),
        Value::String(text) => number::parse(text).or_else(|| number::parse_big_integer(text)),
        Value::Array(_) | Value::Object(_) => None,
    }
}

fn to_boolean(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(truth) => Some(*truth),
        Value::Null => Some(false),
        Value::Number(number) if number::equal(number, &Number::from(1)) => Some(true),
        Value::Number(number) if number::equal(number, &Number::from(0)) => Some(false),
        Value::String(text) if text == "1" || text.eq_ignore_ascii_case("true") => Some(true),
        Value::String(text) if text == "0" || text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number::equal(number, &Number::from(0)),
        Value::String(text) => {
            text.is_empty()
                || text == "0"
                || ["null", "undefined"].iter().any(|word| text.eq_ignore_ascii_case(word))
        }
        _ => false,
    }
}
