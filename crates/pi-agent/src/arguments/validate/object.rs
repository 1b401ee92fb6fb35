//! Keywords for objects.

use serde_json::{Map, Value};

use super::scalar::check_count;
use super::{At, Found, accepts, check};
use crate::arguments::schema::Schema;

type Members = Map<String, Value>;

/// `value` is the object that has the `members`.
pub(super) fn check_object<'s>(
    schema: &Schema<'s>,
    keywords: &'s Members,
    members: &Members,
    value: &Value,
    at: At<'_>,
    found: &mut Found,
) {
    for name in strings(keywords.get("required")) {
        if !members.contains_key(name) {
            found.add(Some(&at.member(name)), || "missing".to_owned());
        }
    }
    let properties = keywords.get("properties").and_then(Value::as_object);
    for (key, about) in properties.into_iter().flatten() {
        if let Some(member) = members.get(key) {
            check(schema, about, member, at.inside(&at.member(key)), found);
        }
    }
    check_other_members(schema, keywords, properties, members, at, found);
    check_count(keywords, "Properties", "properties", || members.len(), at, found);
    for keyword in ["dependentRequired", "dependentSchemas", "dependencies"] {
        let dependencies = keywords.get(keyword).and_then(Value::as_object);
        for (key, wanted) in dependencies.into_iter().flatten() {
            if members.contains_key(key) {
                check_dependency(schema, key, wanted, members, value, at, found);
            }
        }
    }
}

/// Patterns, undeclared members and names: what is asked of members whether declared or not.
fn check_other_members<'s>(
    schema: &Schema<'s>,
    keywords: &'s Members,
    properties: Option<&Members>,
    members: &Members,
    at: At<'_>,
    found: &mut Found,
) {
    let patterns = keywords.get("patternProperties").and_then(Value::as_object);
    let others = keywords.get("additionalProperties");
    let names = keywords.get("propertyNames");
    if patterns.is_none() && others.is_none() && names.is_none() {
        return;
    }
    for (key, member) in members {
        if found.is_settled() {
            return;
        }
        let path = at.member(key);
        let mut spoken_for = properties.is_some_and(|properties| properties.contains_key(key));
        for (source, about) in patterns.into_iter().flatten() {
            match schema.pattern(source) {
                Some(pattern) if pattern.matches(key) => {
                    spoken_for = true;
                    check(schema, about, member, at.inside(&path), found);
                }
                Some(_) => {}
                // It may be this pattern that allows the member.
                None => {
                    spoken_for = true;
                    schema.skip();
                }
            }
        }
        match others {
            Some(Value::Bool(false)) if !spoken_for => {
                found.add(Some(&path), || "unknown field".to_owned());
            }
            Some(about) if !spoken_for => {
                check(schema, about, member, at.inside(&path), found);
            }
            _ => {}
        }
        if let Some(names) = names
            && !accepts(schema, names, &Value::from(key.as_str()), at.place.inside())
        {
            found.add(Some(&path), || "invalid property name".to_owned());
        }
    }
}

/// What the presence of the member `key` asks for: other members, or a schema of the whole object.
fn check_dependency<'s>(
    schema: &Schema<'s>,
    key: &str,
    wanted: &'s Value,
    members: &Members,
    value: &Value,
    at: At<'_>,
    found: &mut Found,
) {
    if wanted.is_array() {
        for name in strings(Some(wanted)) {
            if !members.contains_key(name) {
                found.add(Some(&at.member(name)), || format!("required when {key} is present"));
            }
        }
    } else {
        check(schema, wanted, value, at.beside(), found);
    }
}

fn strings(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}
