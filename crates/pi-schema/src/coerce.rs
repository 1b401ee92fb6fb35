//! Coercion of arguments whose meaning is plain, in three passes over all of them:
//!
//! 1. `omit` removes an optional property that is `null`;
//! 2. `convert` is generous where a schema names one type: text to numbers, an item to a list;
//! 3. `adapt` is stricter and handles the rest, above all lists of types.
//!
//! Coercion never fails; `validate` reports what still does not match. Text is never parsed as
//! JSON: an argument that looks like JSON is still the text that the model wrote.

mod scalar;

use serde_json::{Map, Value};

use self::scalar::Rules;
use super::document::{
    Cursor, Document, Keywords as Checks, Target, Type, Types, branches, reference,
};
use super::json;
use super::validate::accepts;

type Keywords = Map<String, Value>;

/// Returns the arguments after all three passes.
pub(crate) fn coerce(schema: &Document<'_>, arguments: Value) -> Value {
    let (coercion, cursor) = (Coercion { schema }, Cursor::default());
    let arguments = coercion.omit(schema.root, arguments, cursor);
    let arguments = coercion.convert(schema.root, arguments, cursor);
    coercion.adapt(schema.root, arguments, cursor)
}

/// Removes `null` in place of optional members whose schema does not accept `null`, which strict
/// sampling adds to a value.
pub fn without_nulls(schema: &Value, value: Value) -> Value {
    let document = Document::new(schema, &value, Checks::All);
    Coercion { schema: &document }.omit(schema, value, Cursor::default())
}

struct Coercion<'c, 's> {
    schema: &'c Document<'s>,
}

/// A pass, as a function that applies a schema node to a value.
type Pass<'c, 's> = fn(&Coercion<'c, 's>, &'s Value, Value, Cursor<'_>) -> Value;

impl<'c, 's> Coercion<'c, 's> {
    /// First pass: removes a property that is `null` if it is optional and its schema does not
    /// accept `null`. References and unions are left to the other passes.
    fn omit(&self, node: &'s Value, mut value: Value, cursor: Cursor<'_>) -> Value {
        let Some(keywords) = node.as_object() else { return value };
        if reference(node).is_some() || !self.schema.step(cursor) {
            return value;
        }
        let properties = keywords.get("properties").and_then(Value::as_object);
        if let (Value::Object(members), Some(properties)) = (&mut value, properties) {
            let required = branches(keywords, "required").unwrap_or_default();
            let is_required = |key: &str| required.iter().any(|name| name.as_str() == Some(key));
            members.retain(|key, member| match properties.get(key) {
                Some(own) if member.is_null() => {
                    is_required(key)
                        || reference(own).is_some()
                        || accepts(self.schema, own, member, cursor.child())
                }
                _ => true,
            });
        }
        let value = self.members(keywords, value, cursor, Self::omit);
        self.items(keywords, value, cursor, Self::omit)
    }

    /// Second pass: converts a value to the type, literal or branch that a schema names.
    fn convert(&self, node: &'s Value, value: Value, cursor: Cursor<'_>) -> Value {
        let Some(keywords) = node.as_object() else { return value };
        if !self.schema.step(cursor) {
            return value;
        }
        // A reference stands for its target; the keywords beside it only validate.
        if let Some(reference) = reference(node) {
            let Target::Schema(target) = self.schema.follow(reference, cursor) else {
                return value;
            };
            let hop = cursor.hop(target);
            return self.convert(target, value, cursor.after(&hop));
        }
        if let Some(literal) = keywords.get("const") {
            return if reads_as(&value, literal) { literal.clone() } else { value };
        }
        let same = cursor.same_value();
        if let Some(literals) = branches(keywords, "enum") {
            if literals.iter().any(|literal| json::equal(literal, &value)) {
                return value;
            }
            let meant = literals.iter().find(|literal| {
                reads_as(&value, literal) && accepts(self.schema, node, literal, same)
            });
            return meant.cloned().unwrap_or(value);
        }
        if let Some(union) = branches(keywords, "anyOf").or_else(|| branches(keywords, "oneOf")) {
            // Beside branches `type` only validates, but the members are converted.
            let members = |value| self.members(keywords, value, same, Self::convert);
            let convert = |branch, value| members(self.convert(branch, value, same));
            let converted = self.to_branch(union, &value, same, convert, |_| node);
            return converted.unwrap_or_else(|| members(value));
        }
        if let Some(parts) = branches(keywords, "allOf") {
            let value = parts.iter().fold(value, |value, part| self.convert(part, value, same));
            return self.members(keywords, value, cursor, Self::convert);
        }
        match single_type(keywords) {
            None => value,
            Some(Type::Object) => self.members(keywords, value, cursor, Self::convert),
            Some(Type::Array) => {
                // A single item becomes a list, except where positions have meanings.
                let is_tuple = ["prefixItems", "items"]
                    .iter()
                    .any(|keyword| branches(keywords, keyword).is_some());
                let value = if value.is_array() || is_tuple { value } else { vec![value].into() };
                self.items(keywords, value, cursor, Self::convert)
            }
            Some(scalar) => scalar::convert(scalar, &value, Rules::Generous).unwrap_or(value),
        }
    }

    /// Third pass: converts scalars that still have a wrong type, by rules narrow enough to try
    /// one type after the other. References are not followed, and members and items are visited
    /// only if `type` allows objects or lists.
    fn adapt(&self, node: &'s Value, mut value: Value, cursor: Cursor<'_>) -> Value {
        let Some(keywords) = node.as_object() else { return value };
        if !self.schema.step(cursor) {
            return value;
        }
        let same = cursor.same_value();
        for part in branches(keywords, "allOf").into_iter().flatten() {
            value = self.adapt(part, value, same);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(union) = branches(keywords, keyword) {
                let adapt = |branch, value| self.adapt(branch, value, same);
                let adapted = self.to_branch(union, &value, same, adapt, |branch| branch);
                value = adapted.unwrap_or(value);
            }
        }
        let Some(types) = Types::of(keywords) else { return value };
        let types = types.as_slice();
        if !types.iter().any(|kind| kind.accepts(&value)) {
            let mut converted =
                types.iter().filter_map(|kind| scalar::convert(*kind, &value, Rules::Strict));
            value = converted.next().unwrap_or(value);
        }
        if types.contains(&Type::Object) {
            value = self.members(keywords, value, cursor, Self::adapt);
        }
        if types.contains(&Type::Array) {
            value = self.items(keywords, value, cursor, Self::adapt);
        }
        value
    }

    /// Changes a value that no branch accepts to suit a branch. The first result that satisfies
    /// `test` of its branch is returned.
    fn to_branch(
        &self,
        union: &'s [Value],
        value: &Value,
        cursor: Cursor<'_>,
        change: impl Fn(&'s Value, Value) -> Value,
        test: impl Fn(&'s Value) -> &'s Value,
    ) -> Option<Value> {
        if union.iter().any(|branch| accepts(self.schema, branch, value, cursor)) {
            return None;
        }
        for branch in union {
            if !self.schema.step_for_copy(value) {
                break;
            }
            let changed = change(branch, value.clone());
            if accepts(self.schema, test(branch), &changed, cursor) {
                return Some(changed);
            }
        }
        None
    }

    /// Applies a pass to every member of an object, once for each schema of the member: its own
    /// and those of matching patterns, or else the schema of additional properties.
    fn members(
        &self,
        keywords: &'s Keywords,
        value: Value,
        cursor: Cursor<'_>,
        pass: Pass<'c, 's>,
    ) -> Value {
        let Value::Object(members) = value else { return value };
        let properties = keywords.get("properties").and_then(Value::as_object);
        let patterns = keywords.get("patternProperties").and_then(Value::as_object);
        let additional = keywords.get("additionalProperties");
        if properties.is_none() && patterns.is_none() && additional.is_none() {
            return Value::Object(members);
        }
        let change = |(key, mut member): (String, Value)| {
            let own = properties.and_then(|properties| properties.get(&key));
            let mut nodes: Vec<&'s Value> = own.into_iter().collect();
            for (source, node) in patterns.into_iter().flatten() {
                if self.schema.pattern(source).is_some_and(|pattern| pattern.matches(&key)) {
                    nodes.push(node);
                }
            }
            if nodes.is_empty() {
                nodes.extend(additional);
            }
            for node in nodes {
                member = pass(self, node, member, cursor.child());
            }
            (key, member)
        };
        Value::Object(members.into_iter().map(change).collect())
    }

    /// Applies a pass to every item of a list. Items beyond a list of schemas in `items` (the
    /// older form of a tuple) are left alone.
    fn items(
        &self,
        keywords: &'s Keywords,
        value: Value,
        cursor: Cursor<'_>,
        pass: Pass<'c, 's>,
    ) -> Value {
        let Value::Array(items) = value else { return value };
        let tuple = branches(keywords, "items");
        let rest = if tuple.is_some() { None } else { keywords.get("items") };
        let first = tuple.or_else(|| branches(keywords, "prefixItems")).unwrap_or_default();
        let change = |(index, item)| match first.get(index).or(rest) {
            Some(node) => pass(self, node, item, cursor.child()),
            None => item,
        };
        items.into_iter().enumerate().map(change).collect()
    }
}

/// Returns the one type that a schema describes. Without `type`, the keywords for members or items
/// imply it.
fn single_type(keywords: &Keywords) -> Option<Type> {
    let has = |keyword, fits: fn(&Value) -> bool| keywords.get(keyword).is_some_and(fits);
    match Types::of(keywords) {
        Some(Types::One(one)) => Some(one),
        Some(Types::Any(_)) => None,
        None if has("properties", Value::is_object) => Some(Type::Object),
        None if has("patternProperties", Value::is_object) => Some(Type::Object),
        None if has("prefixItems", Value::is_array) => Some(Type::Array),
        None if has("items", |items| {
            items.is_object() || items.is_array() || items.is_boolean()
        }) =>
        {
            Some(Type::Array)
        }
        None => None,
    }
}

/// Returns true if a value is the literal, or another way to write it.
fn reads_as(value: &Value, literal: &Value) -> bool {
    let kind = match literal {
        Value::String(_) => Type::String,
        Value::Number(_) => Type::Number,
        Value::Bool(_) => Type::Boolean,
        Value::Null | Value::Array(_) | Value::Object(_) => return false,
    };
    scalar::convert(kind, value, Rules::Generous)
        .is_some_and(|converted| json::equal(&converted, literal))
}
