//! `cargo xtask schemas`: writes the JSON Schemas of the user's files, from their types, and
//! `docs/settings.md` from one of them.
//!
//! Examples of pi-models and pi-converge write them, so that the other tasks need not build
//! these. Tests there fail if they are out of date.

mod settings_page;

use std::io;

use crate::repository;

/// Errors of the task.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SchemasError {
    #[error("usage: cargo xtask schemas")]
    Usage,
    #[error("cannot run cargo: {0}")]
    Run(#[from] io::Error),
    #[error("the schemas were not written: see above")]
    Failed,
    #[error("docs/schemas/settings.schema.json: {0}")]
    Json(#[from] serde_json::Error),
}

/// Writes the schemas.
pub(crate) fn run(arguments: &[&str]) -> Result<(), SchemasError> {
    if !arguments.is_empty() {
        return Err(SchemasError::Usage);
    }
    for (package, example) in [("pi-models", "schemas"), ("pi-converge", "run_schemas")] {
        let status = repository::cargo()
            .args(["run", "--quiet", "--package", package, "--example", example, "--"])
            .arg(repository::root().join("docs/schemas"))
            .status()?;
        if !status.success() {
            return Err(SchemasError::Failed);
        }
    }
    let schema = std::fs::read(repository::path("docs/schemas/settings.schema.json"))?;
    let page = settings_page::page(&serde_json::from_slice(&schema)?);
    Ok(std::fs::write(repository::path("docs/settings.md"), page)?)
}
