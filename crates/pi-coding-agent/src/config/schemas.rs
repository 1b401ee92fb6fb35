//! JSON Schemas of the user's files, for editors. `cargo xtask schemas` writes them to files.

use std::collections::BTreeMap;

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::Value;

use super::settings::add_idle_keys;
use super::{Settings, StoredCredential};
use crate::models::ModelsFile;

/// The JSON Schema of a file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FileSchema {
    /// Name of the file without `.json`.
    pub name: &'static str,
    /// The schema itself.
    pub schema: Value,
}

/// Returns the schemas of the user's files.
pub fn schemas() -> Vec<FileSchema> {
    let mut settings = schema::<Settings>("pi settings");
    add_idle_keys(&mut settings);
    let auth = schema::<BTreeMap<String, StoredCredential>>("pi credentials, by provider");
    let models = schema::<ModelsFile>("pi models, by provider");
    let trust = schema::<BTreeMap<String, Option<bool>>>("pi trust, by directory");
    vec![
        FileSchema { name: "settings", schema: settings },
        FileSchema { name: "auth", schema: auth },
        FileSchema { name: "models", schema: models },
        FileSchema { name: "trust", schema: trust },
    ]
}

fn schema<T: JsonSchema>(title: &str) -> Value {
    let generator: SchemaGenerator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    schema.to_value()
}
