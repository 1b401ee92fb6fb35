//! `cargo xtask cli-docs`: writes `docs/cli.md` from the output of `pi man --markdown`.
//!
//! A test of the `pi` crate fails if the file is out of date.

use crate::repository;

/// Errors of the task.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliDocsError {
    #[error("cannot run pi: {0}")]
    Run(std::io::Error),
    #[error("`pi man --markdown` failed; see above")]
    Failed,
    #[error("docs/cli.md: {0}")]
    Write(std::io::Error),
}

/// Writes the page.
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
