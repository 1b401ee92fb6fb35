//! `cargo xtask interop modes`: the scenarios of crates/pi, played by the TypeScript pi.
//!
//! A test of pi plays them, compares, and writes what was seen if asked to; see
//! `crates/pi/tests/scenarios/README.md`. Nothing here knows what a scenario is.

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
    let (mut folder, mut only, mut record, mut pending, mut reason) = (None, "", false, false, "");
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| usage(argument));
        match *argument {
            "--dir" => folder = Some(Path::new(value()?).to_owned()),
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
        let folder = folder.or_else(super::default_folder).ok_or(InteropError::NoFolder)?;
        comparison::point_at_package(&folder, &mut cargo)?;
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
