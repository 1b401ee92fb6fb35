//! `cargo xtask interop modes`: runs the scenarios of crates/pi with the TypeScript pi.
//!
//! A test of pi runs them, compares, and records the transcripts if requested; see
//! `crates/pi/tests/scenarios/README.md`. This module does not read scenarios.

use std::path::Path;

use super::InteropError;
use super::comparison;
use crate::repository;

/// The name of this task.
pub(super) const KIND: &str = "modes";

const THEIRS: &str = "scenarios::the_real_pi_matches_the_record";
const OURS: &str = "scenarios::pending_scenarios_are_shown";

/// Runs the task with the arguments after its name.
pub(super) fn run(arguments: &[&str]) -> Result<(), InteropError> {
    let (mut directory, mut only, mut record, mut pending, mut reason) =
        (None, "", false, false, "");
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| usage(argument));
        match *argument {
            "--dir" => directory = Some(Path::new(value()?).to_owned()),
            "--only" => only = value()?,
            "--record" => record = true,
            "--pending" => pending = true,
            "--reason" => reason = value()?,
            other => return Err(usage(other)),
        }
    }
    let mut cargo = repository::cargo();
    cargo.args(["test", "--quiet", "--package", "pi", "--test", "it", "--"]);
    cargo.args(["--ignored", "--nocapture", "--exact", if pending { OURS } else { THEIRS }]);
    cargo.env("PI_SCENARIOS", only).env("PI_REASON", reason);
    if record {
        cargo.env("PI_RECORD", "1");
    }
    if !pending {
        let directory =
            directory.or_else(super::default_directory).ok_or(InteropError::NoDirectory)?;
        comparison::point_at_package(&directory, &mut cargo)?;
    }
    let status = cargo
        .status()
        .map_err(|source| InteropError::Io { what: "run the scenarios".to_owned(), source })?;
    if status.success() { Ok(()) } else { Err(InteropError::Differ) }
}

fn usage(argument: &str) -> InteropError {
    InteropError::Usage(format!(
        "modes [--dir PATH] [--only NAMES] [--record] [--pending] [--reason TEXT] with {argument}"
    ))
}
