//! JSON Schemas of the user's files, for editors. `cargo xtask schemas` writes them to files.

use pi_config::{FileSchema, file_schema};

use crate::ModelsFile;

/// Returns the schemas of the user's files.
pub fn schemas() -> Vec<FileSchema> {
    let models = file_schema::<ModelsFile>("pi models, by provider");
    let mut schemas = pi_config::schemas();
    schemas.push(FileSchema { name: "models", schema: models });
    schemas
}
