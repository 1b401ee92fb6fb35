//! `cargo xtask bench ...`: builds the package `bench` and runs it. The measurements are in `bench/`.
//!
//! Parts measure crates that are built into the bench, so it gets the profile of the same name: the
//! code that ships, with symbols. A comparison measures other binaries, so any build will do.

use std::io;

use crate::repository;

/// Errors of the task.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    #[error("cannot run cargo: {0}")]
    Run(#[from] io::Error),
    #[error("the bench did not build or did not finish")]
    Failed,
}

/// Builds the bench and runs it.
pub(crate) fn run(arguments: &[&str]) -> Result<(), BenchError> {
    let profile = if arguments.first() == Some(&"compare") { "dev" } else { "bench" };
    let status = repository::cargo()
        .args(["run", "--quiet", "--locked", "--profile", profile, "--package", "bench", "--"])
        .args(arguments)
        .status()?;
    if status.success() { Ok(()) } else { Err(BenchError::Failed) }
}
