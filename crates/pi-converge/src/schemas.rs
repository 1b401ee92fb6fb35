//! The published JSON Schemas of task files and reports.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::Value;

use crate::contract::Contract;
use crate::report::Report;

/// Returns the schema of a task file.
pub fn task_schema() -> Value {
    schema::<Contract>("pi task: the contract of an unattended run")
}

/// Returns the schema of a report.
pub fn report_schema() -> Value {
    schema::<Report>("pi report: the outcome of an unattended run")
}

fn schema<T: JsonSchema>(title: &str) -> Value {
    let generator: SchemaGenerator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    schema.to_value()
}
