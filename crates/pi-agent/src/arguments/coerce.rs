//! Arguments made to fit, where what the model meant is plain. Three passes, each over the whole:
//!
//! 1. [`omit`]: a `null` for an optional property is the property left out;
//! 2. [`convert`]: generous, where a schema names one type: text to numbers, one item to a list;
//! 3. [`adapt`]: stricter, for what is left, above all where `type` is a list.
//!
//! Nothing fails here. What does not fit afterwards is for `validate` to report. Text is never
//! parsed as JSON: an argument that happens to look like JSON is still the text the model wrote.

mod adapt;
mod convert;
mod omit;

use serde_json::{Map, Value};

use super::schema::{Place, Schema};

/// The arguments after all three passes.
pub(super) fn coerce(schema: &Schema<'_>, arguments: Value) -> Value {
    let place = Place::default();
    let arguments = omit::omit(schema, schema.root, arguments, place);
    let arguments = convert::convert(schema, schema.root, arguments, place);
    adapt::adapt(schema, schema.root, arguments, place)
}

/// Replaces every member of an object by what `change` makes of it, once for each schema that
/// speaks about the member: its own, those of matching patterns, else the one for all others.
fn change_members<'s>(
    schema: &Schema<'s>,
    keywords: &'s Map<String, Value>,
    members: Map<String, Value>,
    mut change: impl FnMut(&'s Value, Value) -> Value,
) -> Map<String, Value> {
    let properties = keywords.get("properties").and_then(Value::as_object);
    let patterns = keywords.get("patternProperties").and_then(Value::as_object);
    let others = keywords.get("additionalProperties");
    if properties.is_none() && patterns.is_none() && others.is_none() {
        return members;
    }
    members
        .into_iter()
        .map(|(key, mut member)| {
            let own = properties.and_then(|properties| properties.get(&key));
            let matching = patterns.into_iter().flatten().filter_map(|(source, member)| {
                schema
                    .pattern(source)
                    .is_some_and(|pattern| pattern.matches(&key))
                    .then_some(member)
            });
            let mut spoken_for = false;
            for about in own.into_iter().chain(matching) {
                spoken_for = true;
                member = change(about, member);
            }
            if let (false, Some(others)) = (spoken_for, others) {
                member = change(others, member);
            }
            (key, member)
        })
        .collect()
}

/// Replaces every item of a list by what `change` makes of it. Items beyond a list of schemas in
/// `items` (the older way to write a tuple) are left alone.
fn change_items<'s>(
    keywords: &'s Map<String, Value>,
    items: Vec<Value>,
    mut change: impl FnMut(&'s Value, Value) -> Value,
) -> Vec<Value> {
    let (first, rest): (&[Value], _) = match (keywords.get("items"), keywords.get("prefixItems")) {
        (Some(Value::Array(first)), _) => (first, None),
        (rest, Some(Value::Array(first))) => (first, rest),
        (rest, _) => (&[], rest),
    };
    items
        .into_iter()
        .enumerate()
        .map(|(index, item)| match first.get(index).or(rest) {
            Some(about) => change(about, item),
            None => item,
        })
        .collect()
}

/// The schemas of a keyword that lists alternatives or parts.
fn branches<'s>(keywords: &'s Map<String, Value>, keyword: &str) -> Option<&'s Vec<Value>> {
    keywords.get(keyword).and_then(Value::as_array)
}
