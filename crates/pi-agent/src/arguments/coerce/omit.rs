//! First pass: models write `null` for an option they do not use. Where the schema would not take
//! the `null` and the property may be absent, it becomes absent.
//!
//! References and unions are not looked into; what they say of `null` is left to the other passes.

use serde_json::Value;

use super::{change_items, change_members};
use crate::arguments::schema::{Place, Schema, reference};
use crate::arguments::validate::accepts;

pub(super) fn omit<'s>(
    schema: &Schema<'s>,
    about: &'s Value,
    value: Value,
    place: Place<'_>,
) -> Value {
    let Some(keywords) = about.as_object() else { return value };
    if reference(about).is_some() || !schema.step(place) {
        return value;
    }
    let inside = place.inside();
    match value {
        Value::Object(mut members) => {
            let properties = keywords.get("properties").and_then(Value::as_object);
            let required = keywords.get("required").and_then(Value::as_array);
            members.retain(|key, member| {
                let Some(own) = properties.and_then(|properties| properties.get(key)) else {
                    return true;
                };
                let is_required = required.is_some_and(|required| {
                    required.iter().any(|name| name.as_str() == Some(key.as_str()))
                });
                !member.is_null()
                    || is_required
                    || reference(own).is_some()
                    || accepts(schema, own, member, inside)
            });
            Value::Object(change_members(schema, keywords, members, |about, member| {
                omit(schema, about, member, inside)
            }))
        }
        Value::Array(items) => Value::Array(change_items(keywords, items, |about, item| {
            omit(schema, about, item, inside)
        })),
        scalar => scalar,
    }
}
