//! TypeScript declarations of tools, from their JSON Schemas.
//!
//! Schemas come from servers: depth and size of what is written are bounded, and what exceeds the
//! bounds is `unknown`.

use std::collections::BTreeSet;

use serde_json::Value;

/// Depth of types, and number of types in one declaration.
const MAX_DEPTH: usize = 8;
const MAX_TYPES: usize = 300;
/// Characters of a comment.
const MAX_COMMENT: usize = 300;
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
    root: &'a Value,
    types: usize,
}

impl<'a> Writer<'a> {
    fn new(root: &'a Value) -> Self {
        Self { root, types: 0 }
    }

    fn schema(&mut self, schema: &'a Value, depth: usize) -> String {
        self.types += 1;
        if depth > MAX_DEPTH || self.types > MAX_TYPES {
            return "unknown".to_owned();
        }
        if let Some(reference) = schema["$ref"].as_str() {
            let target = reference.strip_prefix('#').and_then(|path| self.root.pointer(path));
            return target.map_or("unknown".to_owned(), |target| self.schema(target, depth + 1));
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
            "array" if schema["items"].is_object() => {
                format!("Array<{}>", self.schema(&schema["items"], depth + 1))
            }
            "array" => "unknown[]".to_owned(),
            "object" => self.object(schema, depth),
            _ => "unknown".to_owned(),
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
            _ if is_empty && additional.is_null() && depth > 0 => Some("unknown".to_owned()),
            _ => None,
        };
        fields.extend(rest.map(|rest| (Vec::new(), format!("[key: string]: {rest};"))));
        if fields.is_empty() {
            return "{}".to_owned();
        }
        let is_plain =
            |(comments, text): &(Vec<String>, String)| comments.is_empty() && !text.contains('\n');
        if fields.iter().all(is_plain) {
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

/// Returns the comments on a field: its description and its default.
fn comments(field: &Value) -> Vec<String> {
    let description = field["description"].as_str().unwrap_or_default();
    let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
    let description: String = description.chars().take(MAX_COMMENT).collect();
    let mut comments = Vec::new();
    if !description.is_empty() {
        comments.push(description);
    }
    if let Some(default) = field.get("default") {
        let default: String = default.to_string().chars().take(MAX_COMMENT).collect();
        comments.push(format!("@default {default}"));
    }
    comments
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
