//! Comparison of a value with the schema of a type, in the words of a user.
//!
//! Knows the keywords that the schemas of this program contain, and reports every mistake. A full
//! validator reports all branches of a choice; here the keys that are present choose the branch.

use pi_coding_agent::suggest::nearest;
use serde_json::{Map, Value};

use super::document::child;

/// A mistake and the pointer of the value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mistake {
    pub(super) pointer: String,
    pub(super) message: String,
}

/// Returns all mistakes, and removes empty fields, which count as absent.
pub(super) fn check(schema: &Value, value: &mut Value) -> Vec<Mistake> {
    let mut checker = Checker { root: schema, mistakes: Vec::new() };
    checker.check(schema, value, "");
    checker.mistakes
}

struct Checker<'s> {
    root: &'s Value,
    mistakes: Vec<Mistake>,
}

impl<'s> Checker<'s> {
    fn report(&mut self, pointer: &str, message: String) {
        self.mistakes.push(Mistake { pointer: pointer.to_owned(), message });
    }

    /// Follows references.
    fn resolve(&self, schema: &'s Value) -> &'s Value {
        let mut schema = schema;
        while let Some(pointer) = schema.get("$ref").and_then(Value::as_str) {
            match self.root.pointer(pointer.trim_start_matches('#')) {
                Some(target) => schema = target,
                None => break,
            }
        }
        schema
    }

    fn check(&mut self, schema: &'s Value, value: &mut Value, pointer: &str) {
        let schema = self.resolve(schema);
        if let Some(values) = allowed_values(schema) {
            if !values.contains(&&*value) {
                let message = invalid_value(value, &values);
                self.report(pointer, message);
            }
            return;
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(branches) = schema.get(keyword).and_then(Value::as_array) {
                return self.check_branches(branches, value, pointer);
            }
        }
        if !has_type(schema, value) {
            return self.report(pointer, format!("expected {}", expected(schema)));
        }
        match value {
            Value::Object(map) => self.check_object(schema, map, pointer),
            Value::Array(items) => {
                if let Some(item_schema) = schema.get("items") {
                    for (index, item) in items.iter_mut().enumerate() {
                        self.check(item_schema, item, &child(pointer, &index.to_string()));
                    }
                }
            }
            Value::Number(number) => {
                let number = number.as_f64().unwrap_or_default();
                let least = schema.get("minimum").and_then(Value::as_f64);
                let most = schema.get("maximum").and_then(Value::as_f64).or_else(|| {
                    let format = schema.get("format").and_then(Value::as_str);
                    (format == Some("uint32")).then_some(f64::from(u32::MAX))
                });
                if least.is_some_and(|least| number < least) {
                    self.report(pointer, format!("expected {}", expected(schema)));
                } else if most.is_some_and(|most| number > most) {
                    self.report(pointer, "the number is too large".to_owned());
                }
            }
            Value::String(text) => {
                let pattern = schema.get("pattern").and_then(Value::as_str);
                let regex = pattern.and_then(|pattern| regex_lite::Regex::new(pattern).ok());
                if regex.is_some_and(|regex| !regex.is_match(text)) {
                    let message = format!("invalid value {text:?}: expected {}", expected(schema));
                    self.report(pointer, message);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn check_object(&mut self, schema: &'s Value, map: &mut Map<String, Value>, pointer: &str) {
        let none = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object);
        let additional = schema.get("additionalProperties");
        map.retain(|name, value| {
            let known = properties.and_then(|properties| properties.get(name));
            !value.is_null() || known.is_none_or(is_free)
        });
        for (name, value) in map.iter_mut() {
            let pointer = child(pointer, name);
            if let Some(property) = properties.and_then(|properties| properties.get(name)) {
                self.check(property, value, &pointer);
            } else if additional == Some(&Value::Bool(false)) {
                let known = properties.unwrap_or(&none).keys().map(String::as_str);
                let message = match nearest(name, known.clone()) {
                    Some(near) => format!("unknown field; did you mean `{near}`?"),
                    None => format!(
                        "unknown field; the fields here are {}",
                        known.collect::<Vec<_>>().join(", ")
                    ),
                };
                self.report(&pointer, message);
            } else if let Some(schema) = additional.filter(|schema| schema.is_object()) {
                self.check(schema, value, &pointer);
            }
        }
        for required in names(schema.get("required")) {
            if !map.contains_key(required) {
                self.report(pointer, format!("the field `{required}` is required"));
            }
        }
    }

    fn check_branches(&mut self, branches: &'s [Value], value: &mut Value, pointer: &str) {
        let branches: Vec<&Value> = branches.iter().map(|branch| self.resolve(branch)).collect();
        let fitting: Vec<&Value> =
            branches.iter().copied().filter(|branch| has_type(branch, value)).collect();
        let chosen = fitting.iter().find(|branch| {
            value.as_object().is_none_or(|map| {
                names(branch.get("required")).iter().all(|name| map.contains_key(*name))
            })
        });
        match (chosen, fitting.as_slice()) {
            (Some(branch), _) | (None, [branch]) => self.check(branch, value, pointer),
            (None, []) => {
                let mut kinds: Vec<String> = branches
                    .iter()
                    .filter(|branch| branch.get("type") != Some(&"null".into()))
                    .map(|branch| expected(branch))
                    .collect();
                kinds.dedup();
                self.report(pointer, format!("expected {}", either(&kinds)));
            }
            (None, several) => {
                let keys: Vec<String> = several
                    .iter()
                    .filter_map(|branch| names(branch.get("required")).first().copied())
                    .map(str::to_owned)
                    .collect();
                let typed = value.as_object().and_then(|map| {
                    map.keys().find_map(|key| {
                        nearest(key, keys.iter().map(String::as_str)).map(|near| (key, near))
                    })
                });
                match typed {
                    Some((key, near)) => self.report(
                        &child(pointer, key),
                        format!("unknown field; did you mean `{near}`?"),
                    ),
                    None => self
                        .report(pointer, format!("expected one of the fields {}", either(&keys))),
                }
            }
        }
    }
}

/// Returns true if a schema allows every value.
fn is_free(schema: &Value) -> bool {
    match schema {
        Value::Bool(allowed) => *allowed,
        schema => ["type", "$ref", "anyOf", "oneOf", "enum", "const"]
            .iter()
            .all(|keyword| schema.get(keyword).is_none()),
    }
}

/// Returns the values of an enumeration.
fn allowed_values(schema: &Value) -> Option<Vec<&Value>> {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return Some(values.iter().collect());
    }
    if let Some(value) = schema.get("const") {
        return Some(vec![value]);
    }
    let branches = schema.get("oneOf").and_then(Value::as_array)?;
    let mut values = Vec::new();
    for branch in branches {
        values.extend(allowed_values(branch)?);
    }
    Some(values)
}

fn names(list: Option<&Value>) -> Vec<&str> {
    let list = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(Value::as_str).collect()
}

/// Returns the names of the types that a schema allows.
fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        list => names(list),
    }
}

fn has_type(schema: &Value, value: &Value) -> bool {
    let types = types(schema);
    types.is_empty()
        || types.iter().any(|name| match *name {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            _ => value.is_null(),
        })
}

/// Returns the kind of value that a schema expects, with an article.
fn expected(schema: &Value) -> String {
    if let Some(description) = schema.get("pattern").and(schema.get("description")) {
        return description.as_str().unwrap_or_default().to_owned();
    }
    let kinds: Vec<String> = types(schema)
        .into_iter()
        .filter(|name| *name != "null")
        .map(|name| match name {
            "object" => "a mapping".to_owned(),
            "array" => "a list".to_owned(),
            "string" => "a text".to_owned(),
            "boolean" => "true or false".to_owned(),
            "integer" => "a whole number".to_owned(),
            _ => "a number".to_owned(),
        })
        .collect();
    if kinds.is_empty() { "another value".to_owned() } else { either(&kinds) }
}

fn invalid_value(value: &Value, allowed: &[&Value]) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let names: Vec<String> = allowed.iter().map(|value| text(value)).collect();
    format!("invalid value {value}: expected {}", either(&names))
}

/// Joins names as in "a, b or c".
fn either(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [init @ .., last] => format!("{} or {last}", init.join(", ")),
    }
}
