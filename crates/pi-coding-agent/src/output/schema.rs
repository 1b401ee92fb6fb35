//! A compiled schema: that of the user, in full, independent of what a provider enforces.

use std::sync::Arc;
use std::time::Duration;

use boon::{CompileError, Compiler, SchemaIndex, Schemas, UrlLoader};
use serde_json::{Map, Value};

use super::bounds::{MAX_BYTES, MAX_TIME, bounded, too_large};
use super::violation::{Violation, violations};

/// The address of the schema, for references within it.
const ADDRESS: &str = "pi://schema/";

/// A JSON Schema that results have to match. Clones share the compiled schema.
#[derive(Clone)]
pub struct OutputContract {
    compiled: Arc<Compiled>,
    schema: Arc<Value>,
}

struct Compiled {
    schemas: Schemas,
    index: SchemaIndex,
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
    /// The schema cannot be compiled.
    #[error("the schema cannot be compiled: {0}")]
    Other(String),
}

impl OutputContract {
    /// Compiles a schema: draft 2020-12, or the draft that `$schema` names. Formats are checked.
    /// Nothing is loaded from files or the network.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        Self::compile_within(schema, MAX_BYTES, MAX_TIME)
    }

    /// Compiles a schema like [`Self::compile`], within a size as JSON text and a time: for schemas
    /// of other programs. The caller waits, so this does not belong on the thread of a runtime.
    pub fn compile_within(
        schema: &Value,
        bytes: usize,
        time: Duration,
    ) -> Result<Self, SchemaError> {
        let schema = Arc::new(schema.clone());
        let source = Arc::clone(&schema);
        let compiled = bounded(time, move || {
            if !matches!(*source, Value::Object(_) | Value::Bool(_)) {
                let message = format!("expected an object, got {}", type_name(&source));
                return Err(SchemaError::Invalid(Violation { pointer: String::new(), message }));
            }
            if let Some(reason) = too_large(&source, bytes) {
                return Err(SchemaError::TooLarge(reason));
            }
            compile(&source)
        });
        let timed_out = || SchemaError::TooLarge("the schema takes too long to compile".to_owned());
        let compiled = compiled.ok_or_else(timed_out)??;
        Ok(Self { compiled: Arc::new(compiled), schema })
    }

    /// Returns the schema as the user wrote it.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Checks a value. An empty list says that the value matches.
    pub async fn check(&self, value: &Arc<Value>) -> Vec<Violation> {
        let (contract, value) = (self.clone(), Arc::clone(value));
        let check = move || bounded(MAX_TIME, move || contract.check_now(&value));
        match tokio::task::spawn_blocking(check).await {
            Ok(Some(violations)) => violations,
            Ok(None) | Err(_) => {
                let message = "the value could not be checked in time".to_owned();
                vec![Violation { pointer: String::new(), message }]
            }
        }
    }

    fn check_now(&self, value: &Value) -> Vec<Violation> {
        match self.compiled.schemas.validate(value, self.compiled.index) {
            Ok(()) => Vec::new(),
            Err(error) => violations(&error),
        }
    }

    /// Removes what strict sampling adds to a value: null in place of an optional property whose
    /// schema does not permit null.
    pub(crate) fn without_nulls(&self, mut value: Value) -> Value {
        remove_nulls(&self.schema, &mut value);
        value
    }
}

impl std::fmt::Debug for OutputContract {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OutputContract").field("schema", &self.schema).finish_non_exhaustive()
    }
}

/// Refuses to load anything.
struct NoLoader;

impl UrlLoader for NoLoader {
    fn load(&self, _url: &str) -> Result<Value, Box<dyn std::error::Error>> {
        Err("only references within the schema are followed".into())
    }
}

fn compile(schema: &Value) -> Result<Compiled, SchemaError> {
    let mut compiler = Compiler::new();
    compiler.use_loader(Box::new(NoLoader));
    compiler.enable_format_assertions();
    compiler.add_resource(ADDRESS, schema.clone()).map_err(described)?;
    let mut schemas = Schemas::new();
    let index = compiler.compile(ADDRESS, &mut schemas).map_err(described)?;
    Ok(Compiled { schemas, index })
}

fn described(error: CompileError) -> SchemaError {
    match error {
        CompileError::ValidationError { src, .. } => {
            let first = violations(&src).into_iter().next();
            first.map_or_else(|| SchemaError::Other(src.to_string()), SchemaError::Invalid)
        }
        CompileError::LoadUrlError { url, .. } | CompileError::UnsupportedUrlScheme { url } => {
            SchemaError::OutsideReference(relative(&url))
        }
        CompileError::JsonPointerNotFound(url) => {
            let message = "the reference leads to nothing".to_owned();
            SchemaError::Invalid(Violation { pointer: pointer(&url), message })
        }
        CompileError::InvalidRegex { url, regex, .. } => {
            let message = format!("\"{regex}\" is not a valid regular expression");
            SchemaError::Invalid(Violation { pointer: pointer(&url), message })
        }
        CompileError::UnsupportedDraft { url } => {
            SchemaError::Other(format!("the draft {url} is not supported"))
        }
        other => SchemaError::Other(relative(&other.to_string())),
    }
}

/// Removes the address of the schema, which means nothing to the user.
fn relative(text: &str) -> String {
    text.replace(ADDRESS, "")
}

fn pointer(url: &str) -> String {
    url.split_once('#').map_or_else(|| relative(url), |(_, fragment)| fragment.to_owned())
}

/// Removes null in place of optional properties, in the parts of a schema that strict sampling can
/// express.
fn remove_nulls(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(members) => {
            let Some(Value::Object(properties)) = schema.get("properties") else { return };
            members.retain(|name, member| {
                let is_extra = member.is_null()
                    && !is_required(schema, name)
                    && properties.get(name).is_some_and(|property| !permits_null(property));
                !is_extra
            });
            for (name, member) in members {
                if let Some(property) = properties.get(name) {
                    remove_nulls(property, member);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                items.iter_mut().for_each(|item| remove_nulls(schema, item));
            }
        }
        _ => {}
    }
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|required| required.iter().any(|entry| entry == name))
}

/// Returns false only if a schema certainly does not permit null.
fn permits_null(schema: &Value) -> bool {
    let Value::Object(members) = schema else { return true };
    let names_null = |kind: &Value| match kind {
        Value::String(kind) => kind == "null",
        Value::Array(kinds) => kinds.iter().any(|kind| kind == "null"),
        _ => true,
    };
    match members {
        members if members.contains_key("type") => members.get("type").is_some_and(names_null),
        members => excludes_nothing(members),
    }
}

fn excludes_nothing(members: &Map<String, Value>) -> bool {
    match (members.get("enum"), members.get("const"), members.get("anyOf")) {
        (Some(Value::Array(values)), _, _) => values.iter().any(Value::is_null),
        (_, Some(value), _) => value.is_null(),
        (_, _, Some(Value::Array(schemas))) => schemas.iter().any(permits_null),
        _ => true,
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
