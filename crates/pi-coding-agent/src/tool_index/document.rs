//! Facts that the search knows about a tool.

use serde_json::Value;

use super::words::terms;
use crate::extension::CallableTool;

/// Bounds on what is read of one tool. Servers choose descriptions and schemas.
const MAX_TEXT: usize = 4 * 1024;
const MAX_DEPTH: usize = 6;
const MAX_FIELDS: usize = 200;

/// Weights of terms, by where they occur.
const NAME: f64 = 3.0;
const BODY: f64 = 1.0;
const NAMESPACE: f64 = 0.5;

/// The terms of a tool with their weights.
#[derive(Debug, Default)]
pub(super) struct Document {
    /// Terms and weights; a term may occur several times.
    pub(super) terms: Vec<(String, f64)>,
    /// Terms of the name without its namespace.
    pub(super) name_terms: Vec<String>,
    /// The name without its namespace.
    pub(super) local_name: String,
}

impl Document {
    pub(super) fn of(callable: &CallableTool) -> Self {
        let declaration = callable.tool.declaration();
        let mut document = Self { local_name: local_name(callable), ..Self::default() };
        document.name_terms = terms(&document.local_name);
        let name_terms = document.name_terms.iter().map(|term| (term.clone(), NAME));
        document.terms.extend(name_terms);
        if let Some(namespace) = &callable.namespace {
            document.add(&namespace.name, NAMESPACE);
            document.add(namespace.description.as_deref().unwrap_or_default(), NAMESPACE);
        }
        document.add(&declaration.description, BODY);
        document.add_schema(&declaration.parameters, 0, &mut MAX_FIELDS.clone());
        document
    }

    fn add(&mut self, text: &str, weight: f64) {
        let end = text.floor_char_boundary(MAX_TEXT);
        self.terms.extend(terms(&text[..end]).into_iter().map(|term| (term, weight)));
    }

    /// Adds the names and descriptions of the fields of a schema.
    fn add_schema(&mut self, schema: &Value, depth: usize, fields: &mut usize) {
        if depth > MAX_DEPTH {
            return;
        }
        let properties = schema["properties"].as_object();
        for (name, field) in properties.into_iter().flatten() {
            if *fields == 0 {
                return;
            }
            *fields -= 1;
            self.add(name, BODY);
            self.add(field["description"].as_str().unwrap_or_default(), BODY);
            self.add_schema(field, depth + 1, fields);
        }
        if schema["items"].is_object() {
            self.add_schema(&schema["items"], depth + 1, fields);
        }
        for keyword in ["anyOf", "oneOf", "allOf"] {
            for variant in schema[keyword].as_array().into_iter().flatten() {
                if *fields == 0 {
                    return;
                }
                *fields -= 1;
                self.add(variant["description"].as_str().unwrap_or_default(), BODY);
                self.add_schema(variant, depth + 1, fields);
            }
        }
    }
}

/// Returns the name of a tool without that of its namespace, as in `mcp__docs__search`.
fn local_name(callable: &CallableTool) -> String {
    let name = callable.name();
    let namespace = callable.namespace.as_ref().map_or("", |namespace| &namespace.name);
    let rest = name.strip_prefix(namespace).filter(|_| !namespace.is_empty());
    rest.map_or(name, |rest| rest.trim_start_matches('_')).to_owned()
}
