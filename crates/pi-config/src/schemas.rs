//! JSON Schemas of the files of this crate, for editors.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::auth::StoredCredential;
use crate::file_schema::file_schema;
use crate::settings::settings_schema;

/// The JSON Schema of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileSchema {
    /// Name of the file without `.json`.
    pub name: &'static str,
    /// The schema itself.
    pub schema: Value,
}

/// Returns the schemas of the settings, of the credentials and of the decisions about trust.
pub fn schemas() -> Vec<FileSchema> {
    let auth = file_schema::<BTreeMap<String, StoredCredential>>("pi credentials, by provider");
    let trust = file_schema::<BTreeMap<String, Option<bool>>>("pi trust, by directory");
    vec![
        FileSchema { name: "settings", schema: settings_schema() },
        FileSchema { name: "auth", schema: auth },
        FileSchema { name: "trust", schema: trust },
    ]
}
