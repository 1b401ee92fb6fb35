//! Defects of a schema that must be right: references that lead nowhere, patterns that cannot be
//! checked, and expansion without bound.
//!
//! A schema of a few hundred bytes can require a number of steps that is exponential in its size:
//! references that double at each level.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::document::{Document, Keywords};
use super::mismatch::child_pointer;
use super::pattern::Pattern;

/// Largest number of subschemas that may apply to one place of a value.
const MAX_EXPANSION: u64 = 20_000;

/// Keywords with a schema or a list of schemas for the same place of the value.
const IN_PLACE: [&str; 7] = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"];

/// Keywords with a schema or a list of schemas for parts of the value.
const PARTS: [&str; 9] = [
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "items",
    "prefixItems",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Keywords with named schemas. Those of dependencies are for the same place.
const MAPS: [&str; 6] =
    ["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"];

/// A reason why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Defect {
    /// A reference leads out of the schema.
    OutsideReference(String),
    /// A reference leads to nothing; its fragment.
    MissingTarget(String),
    /// A pattern is malformed or unsupported.
    Pattern {
        /// Pointer to the keyword.
        pointer: String,
        /// The pattern.
        source: String,
    },
    /// More subschemas apply to one place than a check can evaluate.
    Expansion {
        /// Pointer to the subschema.
        pointer: String,
        /// Largest number of subschemas.
        most: u64,
    },
}

/// Returns the first defect of a schema.
pub fn find_defect(schema: &Value) -> Option<Defect> {
    let document = Document::new(schema, &Value::Null, Keywords::All);
    Search { document, counts: HashMap::new() }.find(schema, "")
}

struct Search<'s> {
    document: Document<'s>,
    /// Subschemas for one place, by the address of a schema; `None` while it is being counted.
    counts: HashMap<*const Value, Option<u64>>,
}

impl<'s> Search<'s> {
    fn find(&mut self, schema: &'s Value, pointer: &str) -> Option<Defect> {
        let keywords = schema.as_object()?;
        for reference in self.references(keywords) {
            if self.document.resolve(reference).is_none() {
                return Some(match reference.strip_prefix('#') {
                    Some(fragment) => Defect::MissingTarget(fragment.to_owned()),
                    None => Defect::OutsideReference(reference.to_owned()),
                });
            }
        }
        if self.count(schema) > MAX_EXPANSION {
            return Some(Defect::Expansion { pointer: pointer.to_owned(), most: MAX_EXPANSION });
        }
        let pattern = keywords.get("pattern").and_then(Value::as_str);
        let named = keywords.get("patternProperties").and_then(Value::as_object);
        let named =
            named.into_iter().flatten().map(|(source, _)| ("patternProperties", source.as_str()));
        for (keyword, source) in pattern.map(|source| ("pattern", source)).into_iter().chain(named)
        {
            if Pattern::compile(source).is_none() {
                let pointer = child_pointer(pointer, keyword);
                return Some(Defect::Pattern { pointer, source: source.to_owned() });
            }
        }
        keywords.iter().find_map(|(keyword, value)| {
            let pointer = child_pointer(pointer, keyword);
            match value {
                Value::Object(schemas) if MAPS.contains(&keyword.as_str()) => schemas
                    .iter()
                    .find_map(|(name, schema)| self.find(schema, &child_pointer(&pointer, name))),
                _ if !IN_PLACE.contains(&keyword.as_str())
                    && !PARTS.contains(&keyword.as_str()) =>
                {
                    None
                }
                Value::Array(schemas) => schemas.iter().enumerate().find_map(|(index, schema)| {
                    self.find(schema, &child_pointer(&pointer, &index.to_string()))
                }),
                schema => self.find(schema, &pointer),
            }
        })
    }

    fn references(
        &self,
        keywords: &'s Map<String, Value>,
    ) -> impl Iterator<Item = &'s str> + use<'s> {
        let references = self.document.references().iter();
        references.filter_map(|keyword| keywords.get(*keyword)?.as_str())
    }

    /// Returns the number of subschemas that apply to one place.
    fn count(&mut self, schema: &'s Value) -> u64 {
        let Value::Object(keywords) = schema else { return 1 };
        let address = std::ptr::from_ref(schema);
        match self.counts.get(&address) {
            Some(Some(count)) => return *count,
            // A cycle. The check reports it when it meets one.
            Some(None) => return 1,
            None => {}
        }
        self.counts.insert(address, None);
        let mut applied: Vec<&'s Value> = self
            .references(keywords)
            .filter_map(|reference| self.document.resolve(reference))
            .collect();
        for keyword in IN_PLACE {
            match keywords.get(keyword) {
                Some(Value::Array(schemas)) => applied.extend(schemas),
                schema => applied.extend(schema),
            }
        }
        for keyword in ["dependentSchemas", "dependencies"] {
            let schemas = keywords.get(keyword).and_then(Value::as_object);
            applied.extend(schemas.into_iter().flat_map(Map::values));
        }
        let add = |sum: u64, schema| sum.saturating_add(self.count(schema));
        let count = applied.into_iter().fold(1, add);
        self.counts.insert(address, Some(count));
        count
    }
}
