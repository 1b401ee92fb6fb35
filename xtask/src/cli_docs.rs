//! `cargo xtask cli-docs`: `docs/cli.md`, as the program itself describes its command line.
//!
//! A test of the `pi` crate fails when the file is not what this would write.

use crate::repository;

/// Why the file could not be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliDocsError {
    #[error("could not run pi: {0}")]
    Run(std::io::Error),
    #[error("`pi man --markdown` failed; see above")]
    Failed,
    #[error("docs/cli.md: {0}")]
    Write(std::io::Error),
}

/// Runs the task.
pub(crate) fn run() -> Result<(), CliDocsError> {
    let arguments = ["run", "--quiet", "--package", "pi", "--", "man", "--markdown"];
    let mut cargo = repository::cargo();
    cargo.args(arguments).stderr(std::process::Stdio::inherit());
    let output = cargo.output().map_err(CliDocsError::Run)?;
    if !output.status.success() {
        return Err(CliDocsError::Failed);
    }
    std::fs::write(repository::path("docs/cli.md"), output.stdout).map_err(CliDocsError::Write)
}
