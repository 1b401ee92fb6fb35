//! `cargo xtask interop extensions`: runs the example extensions of the TypeScript pi in both programs.
//!
//! A test of pi runs them and compares; see `crates/pi/tests/it/example_extensions.rs`. The examples are
//! part of the package in the directory of peers, which needs `jiti` beside it.

use std::path::Path;

use super::InteropError;
use super::comparison;
use crate::repository;

/// The name of this task.
pub(super) const KIND: &str = "extensions";

const TEST: &str = "example_extensions::the_examples_do_the_same_in_both_programs";

/// Runs the task with the arguments after its name.
pub(super) fn run(arguments: &[&str]) -> Result<(), InteropError> {
    let (mut directory, mut only) = (None, "");
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| usage(argument));
        match *argument {
            "--dir" => directory = Some(Path::new(value()?).to_owned()),
            "--only" => only = value()?,
            other => return Err(usage(other)),
        }
    }
    let directory = directory.or_else(super::default_directory).ok_or(InteropError::NoDirectory)?;
    let mut cargo = repository::cargo();
    cargo.args(["test", "--quiet", "--package", "pi", "--test", "it", "--"]);
    cargo.args(["--ignored", "--nocapture", "--exact", TEST]).env("PI_EXAMPLES", only);
    comparison::point_at_package(&directory, &mut cargo)?;
    let status = cargo
        .status()
        .map_err(|source| InteropError::Io { what: "run the examples".to_owned(), source })?;
    if status.success() { Ok(()) } else { Err(InteropError::Differ) }
}

fn usage(argument: &str) -> InteropError {
    InteropError::Usage(format!("extensions [--dir PATH] [--only NAMES] with {argument}"))
}
