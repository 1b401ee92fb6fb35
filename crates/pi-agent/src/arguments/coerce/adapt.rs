//! Third pass: scalars that still have a wrong type, by rules narrow enough to try one type after
//! the other. Blank text is no number here, `"TRUE"` no boolean, and a fraction no integer.
//!
//! References are not followed, and members and items are visited only where `type` says that the
//! value has some.

use serde_json::{Number, Value};

use super::{branches, change_items, change_members};
use crate::arguments::number;
use crate::arguments::schema::{Place, Schema, Type, Types};
use crate::arguments::validate::accepts;

pub(super) fn adapt<'s>(
    schema: &Schema<'s>,
    about: &'s Value,
    value: Value,
    place: Place<'_>,
) -> Value {
    let Some(keywords) = about.as_object() else { return value };
    if !schema.step(place) {
        return value;
    }
    let mut value = value;
    for part in branches(keywords, "allOf").into_iter().flatten() {
        value = adapt(schema, part, value, place.beside());
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(union) = branches(keywords, keyword) {
            value = to_branch(schema, union, value, place.beside());
        }
    }
    let Some(types) = Types::of(keywords) else { return value };
    let types = types.as_slice();
    if !types.iter().any(|kind| kind.accepts(&value)) {
        value = types.iter().find_map(|kind| to_scalar(*kind, &value)).unwrap_or(value);
    }
    match value {
        Value::Object(members) if types.contains(&Type::Object) => {
            Value::Object(change_members(schema, keywords, members, |about, member| {
                adapt(schema, about, member, place.inside())
            }))
        }
        Value::Array(items) if types.contains(&Type::Array) => {
            Value::Array(change_items(keywords, items, |about, item| {
                adapt(schema, about, item, place.inside())
            }))
        }
        other => other,
    }
}

/// A value that no branch takes as it is becomes what suits the first branch that can be suited.
fn to_branch<'s>(schema: &Schema<'s>, union: &'s [Value], value: Value, place: Place<'_>) -> Value {
    if union.iter().any(|branch| accepts(schema, branch, &value, place)) {
        return value;
    }
    for branch in union {
        if !schema.step_for_copy(&value) {
            break;
        }
        let adapted = adapt(schema, branch, value.clone(), place);
        if accepts(schema, branch, &adapted, place) {
            return adapted;
        }
    }
    value
}

fn to_scalar(kind: Type, value: &Value) -> Option<Value> {
    match kind {
        Type::String => match value {
            Value::Number(number) => Some(Value::String(number::to_text(number))),
            Value::Bool(truth) => Some(Value::String(truth.to_string())),
            Value::Null => Some(Value::String(String::new())),
            _ => None,
        },
        Type::Number => to_number(value).map(Value::Number),
        Type::Integer => to_number(value).filter(number::is_integer).map(Value::Number),
        Type::Boolean => to_boolean(value).map(Value::Bool),
        Type::Null => {
            let is_nothing = match value {
                Value::String(text) => text.is_empty(),
                Value::Number(number) => number::equal(number, &Number::from(0)),
                other => *other == Value::Bool(false),
            };
            is_nothing.then_some(Value::Null)
        }
        Type::Array | Type::Object => None,
    }
}

fn to_number(value: &Value) -> Option<Number> {
    match value {
        Value::Bool(truth) => Some(Number::from(u8::from(*truth))),
        Value::Null => Some(Number::from(0)),
        Value::String(text) if !number::is_blank_text(text) => number::parse(text),
        _ => None,
    }
}

fn to_boolean(value: &Value) -> Option<bool> {
    match value {
        Value::Null => Some(false),
        Value::Number(number) if number::equal(number, &Number::from(1)) => Some(true),
        Value::Number(number) if number::equal(number, &Number::from(0)) => Some(false),
        Value::String(text) if text == "true" => Some(true),
        Value::String(text) if text == "false" => Some(false),
        _ => None,
    }
}
