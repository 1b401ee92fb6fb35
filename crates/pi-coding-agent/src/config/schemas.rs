//! JSON Schemas of the user's files, for editors. `cargo xtask schemas` writes them to files.

use std::collections::BTreeMap;

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::Value;

use super::settings::add_idle_keys;
use super::{Settings, StoredCredential};
use crate::models::ModelsFile;

/// Returns the name of each file with its schema.
pub fn schemas() -> Vec<(&'static str, Value)> {
    let mut settings = schema::<Settings>("pi settings");
    add_idle_keys(&mut settings);
    vec![
        ("settings", settings),
        ("auth", schema::<BTreeMap<String, StoredCredential>>("pi credentials, by provider")),
        ("models", schema::<ModelsFile>("pi models, by provider")),
        ("trust", schema::<BTreeMap<String, Option<bool>>>("pi trust, by directory")),
    ]
}

fn schema<T: JsonSchema>(title: &str) -> Value {
    let generator: SchemaGenerator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    schema.to_value()
}
