//! `cargo xtask evade [--seconds N] [--seed N]`: runs random scripts in a real bash and compares
//! them with pi-guard's analysis.
//!
//! The comparison is a test of pi-guard that ordinary test runs skip, since it runs for a given
//! time; see `crates/pi-guard/tests/it/beside_bash.rs`. A finding is a script that ran a command
//! which the analysis neither listed nor marked as uncertain. Fix the analysis, and add a row to
//! the tables in `crates/pi-guard/tests/it/evasion`.

use std::io;

use crate::repository;

/// Random scripts, and scripts in which bash evaluates text twice.
const TESTS: [&str; 2] =
    ["beside_bash::commands_that_run_are_listed", "beside_bash::double_evaluations_are_uncertain"];

/// Errors of the task, findings included.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EvadeError {
    #[error("usage: cargo xtask evade [--seconds N] [--seed N], not {0:?}")]
    Usage(String),
    #[error("cannot run cargo: {0}")]
    Run(#[from] io::Error),
    #[error("a command ran that was neither listed nor marked as uncertain: see above")]
    Failed,
}

/// Runs the comparison.
pub(crate) fn run(arguments: &[&str]) -> Result<(), EvadeError> {
    let settings = parse(arguments)?;
    let status = repository::cargo()
        .args(["test", "--quiet", "--release", "--package", "pi-guard", "--test", "it", "--"])
        .args(["--ignored", "--exact", "--nocapture"])
        .args(TESTS)
        .envs(settings)
        .status()?;
    if status.success() { Ok(()) } else { Err(EvadeError::Failed) }
}

/// Converts the arguments to the environment of the test.
fn parse(arguments: &[&str]) -> Result<Vec<(&'static str, String)>, EvadeError> {
    let mut settings = Vec::new();
    for pair in arguments.chunks(2) {
        let name = match pair {
            ["--seconds", number] if number.parse::<u64>().is_ok() => "PI_EVADE_SECONDS",
            ["--seed", number] if number.parse::<u64>().is_ok() => "PI_EVADE_SEED",
            _ => return Err(EvadeError::Usage(arguments.join(" "))),
        };
        settings.push((name, pair[1].to_owned()));
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments() {
        let given = parse(&["--seconds", "5", "--seed", "7"]).unwrap();
        assert_eq!(given, [("PI_EVADE_SECONDS", "5".into()), ("PI_EVADE_SEED", "7".into())]);
        for bad in [&["--seconds"][..], &["--seed", "x"], &["--runs", "1"]] {
            assert!(matches!(parse(bad), Err(EvadeError::Usage(_))), "{bad:?}");
        }
    }

    #[test]
    fn the_tests_exist() {
        let file = repository::path("crates/pi-guard/tests/it/beside_bash.rs");
        let text = std::fs::read_to_string(file).unwrap();
        for test in TESTS {
            let name = test.split("::").last().unwrap();
            assert!(text.contains(&format!("fn {name}()")), "{name}");
        }
    }
}
