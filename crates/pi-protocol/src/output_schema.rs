//! The JSON Schema that constrains the final answer of a request.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

/// A JSON Schema for the final answer.
///
/// The schema is a wish: it is sent if the wire format and the model support it, in a form that the
/// provider accepts. The application has to validate the answer in any case.
#[derive(Debug)]
pub struct OutputSchema {
    name: String,
    schema: Value,
    is_rejected: AtomicBool,
}

impl OutputSchema {
    /// Creates a constraint. The name identifies the schema to the provider: letters, digits, `_`
    /// and `-`.
    pub fn new(name: impl Into<String>, schema: Value) -> Self {
        Self { name: name.into(), schema, is_rejected: AtomicBool::new(false) }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the schema as the application wrote it.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Returns true if a provider has rejected the schema. It is not sent again.
    pub fn is_rejected(&self) -> bool {
        self.is_rejected.load(Ordering::Acquire)
    }

    /// Records that a provider has rejected the schema.
    pub fn reject(&self) {
        self.is_rejected.store(true, Ordering::Release);
    }
}
