//! `cargo xtask deny`: checks dependencies with cargo-deny, by the rules of `deny.toml`.

use std::process::Stdio;

use crate::repository;

/// Errors of the task.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DenyError {
    #[error("usage: cargo xtask deny")]
    Usage,
    #[error(
        "cargo-deny is not installed, so advisories are not checked; install it with `cargo install \
         --locked cargo-deny`. `cargo xtask tidy` checks licenses and duplicates without it."
    )]
    NotInstalled,
    #[error("cannot run cargo: {0}")]
    Run(#[from] std::io::Error),
    #[error("cargo-deny found problems; see above")]
    Failed,
}

/// Runs cargo-deny.
pub(crate) fn run(arguments: &[&str]) -> Result<(), DenyError> {
    if !arguments.is_empty() {
        return Err(DenyError::Usage);
    }
    let mut version = repository::cargo();
    version.args(["deny", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    if !version.status()?.success() {
        return Err(DenyError::NotInstalled);
    }
    let status = repository::cargo().args(["deny", "--locked", "check"]).status()?;
    if status.success() { Ok(()) } else { Err(DenyError::Failed) }
}
