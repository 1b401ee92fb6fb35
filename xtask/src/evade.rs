//! `cargo xtask evade [--seconds N] [--seed N]`: random scripts in a real bash, beside what
//! pi-guard says of them.
//!
//! The comparison is a test of pi-guard that ordinary test runs leave out, since it takes as long
//! as it is given; see `crates/pi-guard/tests/it/beside_bash.rs`. A finding is a script that ran
//! something which the analysis neither listed nor doubted. Mend it, and add a row to the tables in
//! `crates/pi-guard/tests/it/evasion`.

use std::io;

use crate::repository;

const TEST: &str = "beside_bash::commands_that_run_are_listed";

/// Why there was no run, or what it found.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EvadeError {
    #[error("usage: cargo xtask evade [--seconds N] [--seed N], not {0:?}")]
    Usage(String),
    #[error("cannot run cargo: {0}")]
    Run(#[from] io::Error),
    #[error("something ran that was neither listed nor doubted: see above")]
    Failed,
}

/// Runs the task.
pub(crate) fn run(arguments: &[&str]) -> Result<(), EvadeError> {
    let settings = parse(arguments)?;
    let status = repository::cargo()
        .args(["test", "--quiet", "--release", "--package", "pi-guard", "--test", "it", "--"])
        .args(["--ignored", "--exact", TEST, "--nocapture"])
        .envs(settings)
        .status()?;
    if status.success() { Ok(()) } else { Err(EvadeError::Failed) }
}

/// The arguments as the environment that the test reads.
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
    fn the_test_is_there() {
        let file = repository::path("crates/pi-guard/tests/it/beside_bash.rs");
        let text = std::fs::read_to_string(file).unwrap();
        let name = TEST.split("::").last().unwrap();
        assert!(text.contains(&format!("fn {name}()")));
    }
}
