//! TypeScript declarations of tools, from their JSON Schemas.
//!
//! Schemas come from servers: depth and size of what is written are bounded, and what exceeds the
//! bounds is `unknown`.

use std::collections::BTreeSet;

use serde_json::Value;

/// Depth of types, and number of types in one declaration.
const MAX_DEPTH: usize = 8;
const MAX_TYPES: usize = 300;
/// Lines of a description, and characters of a line of a comment.
const MAX_LINES: usize = 20;
const MAX_COMMENT: usize = 1_000;
/// Characters of a type that a description shows in place of a list of fields.
const MAX_SHORT: usize = 120;

/// Returns the declaration of a tool.
pub(super) fn declaration(id: &str, parameters: &Value, output: Option<&Value>) -> String {
    let arguments = Writer::new(parameters).schema(parameters, 0);
    let result = match output {
        Some(schema) => Writer::new(schema).schema(schema, 0),
        None => "string".to_owned(),
    };
    format!("{id}(args: {arguments}): Promise<{result}>;")
}

/// Returns what a call resolves to, in a few words.
pub(super) fn result_in_words(output: Option<&Value>) -> Option<String> {
    let Some(schema) = output else { return Some("a string".to_owned()) };
    if let Some(fields) = field_list(schema, 1) {
        return Some(format!("`{fields}`"));
    }
    let options = schema["anyOf"].as_array().or(schema["oneOf"].as_array());
    let lists: Option<Vec<String>> =
        options.and_then(|options| options.iter().map(|one| field_list(one, 1)).collect());
    if let Some(lists) = lists.filter(|lists| !lists.is_empty()) {
        return Some(format!("`{}`", lists.join(" | ")));
    }
    let text = Writer::new(schema).schema(schema, 0);
    let is_short = text.len() <= MAX_SHORT && !text.contains('\n');
    (is_short && text != "unknown").then(|| format!("`{text}`"))
}

/// Returns the names of the fields of an object, and of the objects in it.
fn field_list(schema: &Value, depth: usize) -> Option<String> {
    let properties = schema["properties"].as_object().filter(|all| !all.is_empty())?;
    let required = required(schema);
    let fields = properties.iter().map(|(name, field)| {
        let optional = if required.contains(name.as_str()) { "" } else { "?" };
        match depth.checked_sub(1).and_then(|depth| field_list(field, depth)) {
            Some(inner) => format!("{name}{optional}: {inner}"),
            None => format!("{name}{optional}"),
        }
    });
    let fields: Vec<String> = fields.take(MAX_TYPES).collect();
    Some(format!("{{ {} }}", fields.join(", ")))
}

fn required(schema: &Value) -> BTreeSet<&str> {
    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Writes types within bounds.
struct Writer<'a> {
    /// Schemas with definitions, from the outermost. The schema of a server is a part of that of a
    /// result, and its references mean its own definitions.
    bases: Vec<&'a Value>,
    types: usize,
    /// References that are being written; a type within itself is `unknown`.
    open: Vec<&'a str>,
}

impl<'a> Writer<'a> {
    fn new(root: &'a Value) -> Self {
        Self { bases: vec![root], types: 0, open: Vec::new() }
    }

    fn schema(&mut self, schema: &'a Value, depth: usize) -> String {
        let is_base = ["$defs", "definitions"].iter().any(|name| schema[name].is_object());
        if is_base {
            self.bases.push(schema);
        }
        let text = self.within_base(schema, depth);
        if is_base {
            self.bases.pop();
        }
        text
    }

    fn within_base(&mut self, schema: &'a Value, depth: usize) -> String {
        self.types += 1;
        if depth > MAX_DEPTH || self.types > MAX_TYPES {
            return "unknown".to_owned();
        }
        if let Some(reference) = schema["$ref"].as_str() {
            let path = reference.strip_prefix('#');
            let mut bases = self.bases.iter().rev();
            let target = path.and_then(|path| bases.find_map(|base| base.pointer(path)));
            let Some(target) = target.filter(|_| !self.open.contains(&reference)) else {
                return "unknown".to_owned();
            };
            self.open.push(reference);
            let text = self.schema(target, depth + 1);
            self.open.pop();
            return text;
        }
        if let Some(value) = schema.get("const") {
            return value.to_string();
        }
        if let Some(values) = schema["enum"].as_array().filter(|values| !values.is_empty()) {
            return values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
        }
        for (keyword, sign) in [("anyOf", " | "), ("oneOf", " | "), ("allOf", " & ")] {
            if let Some(parts) = schema[keyword].as_array().filter(|parts| !parts.is_empty()) {
                return self.joined(parts.iter(), sign, depth);
            }
        }
        match &schema["type"] {
            Value::Array(names) => {
                let names = names.iter().filter_map(Value::as_str);
                let types: Vec<String> =
                    names.map(|name| self.of_type(name, schema, depth)).collect();
                if types.is_empty() { "unknown".to_owned() } else { types.join(" | ") }
            }
            Value::String(name) => self.of_type(name, schema, depth),
            _ if schema["properties"].is_object() => self.object(schema, depth),
            _ => "unknown".to_owned(),
        }
    }

    fn joined(
        &mut self,
        parts: impl Iterator<Item = &'a Value>,
        sign: &str,
        depth: usize,
    ) -> String {
        parts.map(|part| self.schema(part, depth + 1)).collect::<Vec<_>>().join(sign)
    }

    fn of_type(&mut self, name: &str, schema: &'a Value, depth: usize) -> String {
        match name {
            "string" | "boolean" | "null" | "number" => name.to_owned(),
            "integer" => "number".to_owned(),
            "array" => self.array(schema, depth),
            "object" => self.object(schema, depth),
            _ => "unknown".to_owned(),
        }
    }

    fn array(&mut self, schema: &'a Value, depth: usize) -> String {
        let tuple = schema["prefixItems"].as_array().or(schema["items"].as_array());
        if let Some(tuple) = tuple {
            let parts: Vec<String> = tuple.iter().map(|one| self.schema(one, depth + 1)).collect();
            return format!("[{}]", parts.join(", "));
        }
        match &schema["items"] {
            items @ Value::Object(_) => format!("Array<{}>", self.schema(items, depth + 1)),
            _ => "unknown[]".to_owned(),
        }
    }

    /// Writes an object: in one line, or with one line for each field if fields have comments.
    fn object(&mut self, schema: &'a Value, depth: usize) -> String {
        let properties = schema["properties"].as_object();
        let required = required(schema);
        let mut properties: Vec<(&String, &Value)> = properties.into_iter().flatten().collect();
        properties.sort_by_key(|(name, _)| *name);
        let is_empty = properties.is_empty();
        let mut fields = Vec::new();
        for (name, field) in properties {
            if self.types > MAX_TYPES {
                break;
            }
            let optional = if required.contains(name.as_str()) { "" } else { "?" };
            let text = format!("{}{optional}: {};", key(name), self.schema(field, depth + 1));
            fields.push((comments(field), text));
        }
        let additional = &schema["additionalProperties"];
        let rest = match additional {
            Value::Object(_) => Some(self.schema(additional, depth + 1)),
            Value::Bool(true) => Some("unknown".to_owned()),
            _ if is_empty && additional.is_null() => Some("unknown".to_owned()),
            _ => None,
        };
        fields.extend(rest.map(|rest| (Vec::new(), format!("[key: string]: {rest};"))));
        if fields.is_empty() {
            return "{}".to_owned();
        }
        if fields.iter().all(|(comments, _)| comments.is_empty()) {
            let fields: Vec<String> = fields.into_iter().map(|(_, text)| text).collect();
            return format!("{{ {} }}", fields.join(" "));
        }
        let mut lines = vec!["{".to_owned()];
        for (comments, text) in fields {
            lines.extend(comments.into_iter().map(|comment| format!("  // {comment}")));
            lines.extend(text.lines().map(|line| format!("  {line}")));
        }
        lines.push("}".to_owned());
        lines.join("\n")
    }
}

/// What a comment says about the values of a field, beside their type.
const TAGS: [&str; 14] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
];

/// Returns the comments on a field: its description, and a line on its values.
fn comments(field: &Value) -> Vec<String> {
    let description = field["description"].as_str().unwrap_or_default();
    let lines = description.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let lines = lines.filter(|words| !words.is_empty()).take(MAX_LINES);
    let mut comments: Vec<String> = lines.map(|words| bounded(&words.join(" "))).collect();
    let mut tags = Vec::new();
    let names =
        field["type"].as_array().map_or(std::slice::from_ref(&field["type"]), Vec::as_slice);
    if names.iter().any(|name| name == "integer") {
        tags.push("@integer".to_owned());
    }
    for name in TAGS {
        match &field[name] {
            Value::Null | Value::Bool(false) => {}
            Value::Bool(true) => tags.push(format!("@{name}")),
            Value::String(text) => {
                let words: Vec<&str> = text.split_whitespace().collect();
                tags.push(format!("@{name} {}", words.join(" ")));
            }
            value => tags.push(format!("@{name} {value}")),
        }
    }
    if let Some(default) = field.get("default").filter(|default| !default.is_null()) {
        tags.push(format!("@default {default}"));
    }
    if field["deprecated"] == true {
        tags.push("@deprecated".to_owned());
    }
    if !tags.is_empty() {
        comments.push(bounded(&tags.join(" ")));
    }
    comments
}

fn bounded(line: &str) -> String {
    line.chars().take(MAX_COMMENT).collect()
}

/// Returns a name as the key of a type.
fn key(name: &str) -> String {
    match is_identifier(name) {
        true => name.to_owned(),
        false => Value::from(name).to_string(),
    }
}

fn is_identifier(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
    name.chars().all(is_part) && name.chars().next().is_some_and(|c| !c.is_ascii_digit())
}

/// Returns the name by which scripts call a tool: what cannot be in an identifier becomes `_`.
pub(super) fn identifier(name: &str) -> String {
    let replace =
        |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '$') { c } else { '_' };
    let id: String = name.chars().map(replace).collect();
    if id.starts_with(|c: char| c.is_ascii_digit()) || id.is_empty() {
        format!("_{id}")
    } else {
        id
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_declared() {
        let node = json!({
            "type": "object",
            "properties": { "next": { "$ref": "#/$defs/Node" }, "v": { "type": "number" } },
        });
        let cases = [
            (json!({}), "{ [key: string]: unknown; }"),
            (json!({ "a": { "type": "string" }, "b-c": {} }), "{ a?: string; \"b-c\"?: unknown; }"),
            (
                json!({ "n": { "type": "integer", "minimum": 1, "default": 5, "description": "A\nB" } }),
                "{\n  // A\n  // B\n  // @integer @minimum 1 @default 5\n  n?: number;\n}",
            ),
            (
                json!({ "l": { "type": "array", "items": { "type": "integer" }, "uniqueItems": true } }),
                "{\n  // @uniqueItems\n  l?: Array<number>;\n}",
            ),
            (
                json!({ "t": { "type": "array", "prefixItems": [{ "type": "string" }, {}] } }),
                "{ t?: [string, unknown]; }",
            ),
            // Only the object whose fields have comments takes several lines.
            (
                json!({ "o": { "type": "object", "properties": {
                    "p": { "type": "string", "pattern": "^a", "deprecated": true } } } }),
                "{ o?: {\n  // @pattern ^a @deprecated\n  p?: string;\n}; }",
            ),
            (
                json!({ "r": { "$ref": "#/$defs/Node" } }),
                "{ r?: { next?: unknown; v?: number; }; }",
            ),
            (
                json!({ "u": { "anyOf": [{ "const": 1 }, { "type": "null" }] } }),
                "{ u?: 1 | null; }",
            ),
        ];
        for (properties, expected) in cases {
            let schema =
                json!({ "type": "object", "properties": properties, "$defs": { "Node": node } });
            let text = declaration("f", &schema, None);
            assert_eq!(text, format!("f(args: {expected}): Promise<string>;"));
        }
    }

    #[test]
    fn references_mean_the_nearest_definitions() {
        let own = json!({
            "properties": { "i": { "$ref": "#/$defs/I" }, "o": { "$ref": "#/$defs/O" } },
            "$defs": { "I": { "type": "number" } },
        });
        let result = json!({
            "properties": { "inner": own, "i": { "$ref": "#/$defs/I" } },
            "$defs": { "I": { "type": "string" }, "O": { "type": "boolean" } },
        });
        let text = declaration("f", &json!({ "type": "object" }), Some(&result));
        let expected = "{ i?: string; inner?: { i?: number; o?: boolean; }; }";
        assert_eq!(text, format!("f(args: {{ [key: string]: unknown; }}): Promise<{expected}>;"));
    }
}
