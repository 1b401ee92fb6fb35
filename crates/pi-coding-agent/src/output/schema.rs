//! The schema of a result: that of the user, in full, independent of what a provider enforces.

use std::sync::{Arc, LazyLock};

use pi_schema::{self as schema, Defect, find_defect};
use serde_json::Value;

use super::violation::{Violation, violations};

/// Largest size of a schema of the user as JSON text.
const MAX_BYTES: usize = 4 << 20;

/// The drafts that `$schema` can name.
const DRAFTS: &[&str] = &[
    "json-schema.org/draft/2020-12/schema",
    "json-schema.org/draft/2019-09/schema",
    "json-schema.org/draft-07/schema",
    "json-schema.org/draft-06/schema",
    DRAFT_4,
];

/// The draft in which exclusive limits are booleans.
const DRAFT_4: &str = "json-schema.org/draft-04/schema";

/// The schema of schemas, with the keywords of all drafts.
static METASCHEMA: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("metaschema.json")).unwrap_or_default());

/// A JSON Schema that results have to match. Clones share the schema.
#[derive(Debug, Clone)]
pub struct OutputContract {
    schema: Arc<Value>,
}

/// A schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The schema is not a valid JSON Schema.
    #[error("the schema is invalid at {}: {}", .0.place(), .0.message)]
    Invalid(Violation),
    /// A reference leads out of the schema.
    #[error("the schema refers to {0}; only references within the schema are followed")]
    OutsideReference(String),
    /// The schema is too large or expands too far.
    #[error("{0}")]
    TooLarge(String),
}

impl OutputContract {
    /// Accepts a schema of any draft from 4 to 2020-12. Formats are checked. Nothing is loaded from
    /// files or the network.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        Self::compile_within(schema, MAX_BYTES)
    }

    /// Accepts a schema like [`Self::compile`], within a size as JSON text: for schemas of other
    /// programs.
    pub fn compile_within(schema: &Value, bytes: usize) -> Result<Self, SchemaError> {
        if !matches!(schema, Value::Object(_) | Value::Bool(_)) {
            let message = format!("expected an object, got {}", type_name(schema));
            return Err(SchemaError::Invalid(Violation::of_whole(message)));
        }
        if schema.to_string().len() > bytes {
            return Err(SchemaError::TooLarge(format!("the schema has more than {bytes} bytes")));
        }
        let draft = schema.get("$schema").and_then(Value::as_str);
        if let Some(draft) = draft.filter(|draft| !names_draft(draft, DRAFTS)) {
            return Err(SchemaError::OutsideReference(draft.to_owned()));
        }
        let mut checked = schema::check(&METASCHEMA, schema);
        if draft.is_some_and(|draft| names_draft(draft, &[DRAFT_4])) {
            checked.mismatches.retain(|mismatch| {
                let keyword = mismatch.path.last().map(String::as_str);
                !mismatch.value.is_boolean()
                    || !matches!(keyword, Some("exclusiveMinimum" | "exclusiveMaximum"))
            });
        }
        if let Some(first) = violations(&checked).into_iter().next() {
            return Err(SchemaError::Invalid(first));
        }
        match find_defect(schema) {
            Some(defect) => Err(described(defect)),
            None => Ok(Self { schema: Arc::new(schema.clone()) }),
        }
    }

    /// Returns the schema as the user wrote it.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Checks a value. An empty list says that the value matches.
    pub async fn check(&self, value: &Arc<Value>) -> Vec<Violation> {
        let (schema, value) = (Arc::clone(&self.schema), Arc::clone(value));
        let check = move || violations(&schema::check(&schema, &value));
        let failed = |_| vec![Violation::of_whole("the value could not be checked")];
        tokio::task::spawn_blocking(check).await.unwrap_or_else(failed)
    }

    /// Removes what strict sampling adds to a value: null in place of an optional property whose
    /// schema does not permit null.
    pub(crate) fn without_nulls(&self, value: Value) -> Value {
        schema::without_nulls(&self.schema, value)
    }
}

/// Returns true if a URL names one of the drafts.
fn names_draft(url: &str, drafts: &[&str]) -> bool {
    let url = url.trim_end_matches('#');
    let name = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    name.is_some_and(|name| drafts.contains(&name))
}

fn described(defect: Defect) -> SchemaError {
    let invalid = |pointer, message: String| SchemaError::Invalid(Violation { pointer, message });
    match defect {
        Defect::OutsideReference(reference) => SchemaError::OutsideReference(reference),
        Defect::MissingTarget(pointer) => {
            invalid(pointer, "the reference leads to nothing".to_owned())
        }
        Defect::Pattern { pointer, source } => {
            invalid(pointer, format!("\"{source}\" is not a valid regex"))
        }
        Defect::Expansion { pointer, most } => {
            let place = if pointer.is_empty() { "/" } else { &pointer };
            SchemaError::TooLarge(format!(
                "at {place}: the references expand to more than {most} schemas"
            ))
        }
    }
}

/// Returns the JSON type of a value.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
