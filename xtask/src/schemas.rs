//! `cargo xtask schemas`: writes the JSON Schemas of the user's files, from their types.
//!
//! An example of pi-coding-agent writes them, so that the other tasks need not build it. A test
//! there fails if they are out of date.

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
}

/// Writes the schemas.
pub(crate) fn run(arguments: &[&str]) -> Result<(), SchemasError> {
    if !arguments.is_empty() {
        return Err(SchemasError::Usage);
    }
    let status = repository::cargo()
        .args(["run", "--quiet", "--package", "pi-coding-agent", "--example", "schemas", "--"])
        .arg(repository::root().join("docs/schemas"))
        .status()?;
    if status.success() { Ok(()) } else { Err(SchemasError::Failed) }
}
