//! `cargo xtask lies [--count N] [--seed N]`: makes unattended runs whose edits leave the bug and make
//! the check pass all the same. None of them may end as converged.
//!
//! The runs are a test of pi that ordinary test runs skip, since thousands of them take an hour; see
//! `crates/pi/tests/it/converge/generated.rs`. Keep a lie that converged as a line of
//! `generated/kept.jsonl` there, which ordinary test runs read.

use std::io;

use crate::repository;

const TEST: &str = "converge::generated::many_lies";

/// Errors of the task, findings included.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LiesError {
    #[error("usage: cargo xtask lies [--count N] [--seed N], not {0:?}")]
    Usage(String),
    #[error("cannot run cargo: {0}")]
    Run(#[from] io::Error),
    #[error("a lie converged, or honest work did not: see above")]
    Failed,
}

/// Makes the runs.
pub(crate) fn run(arguments: &[&str]) -> Result<(), LiesError> {
    let settings = parse(arguments)?;
    let status = repository::cargo()
        .args(["test", "--quiet", "--package", "pi", "--test", "it", "--"])
        .args(["--ignored", "--exact", TEST, "--nocapture"])
        .envs(settings)
        .status()?;
    if status.success() { Ok(()) } else { Err(LiesError::Failed) }
}

/// Converts the arguments to the environment of the test.
fn parse(arguments: &[&str]) -> Result<Vec<(&'static str, String)>, LiesError> {
    let mut settings = Vec::new();
    for pair in arguments.chunks(2) {
        let name = match pair {
            ["--count", number] if number.parse::<u64>().is_ok() => "PI_LIES_COUNT",
            ["--seed", number] if number.parse::<u64>().is_ok() => "PI_LIES_SEED",
            _ => return Err(LiesError::Usage(arguments.join(" "))),
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
        let given = parse(&["--count", "5", "--seed", "7"]).unwrap();
        assert_eq!(given, [("PI_LIES_COUNT", "5".into()), ("PI_LIES_SEED", "7".into())]);
        for bad in [&["--count"][..], &["--seed", "x"], &["--runs", "1"]] {
            assert!(matches!(parse(bad), Err(LiesError::Usage(_))), "{bad:?}");
        }
    }

    #[test]
    fn the_test_exists() {
        let file = repository::path("crates/pi/tests/it/converge/generated.rs");
        let text = std::fs::read_to_string(file).unwrap();
        assert!(text.contains("fn many_lies()"));
    }
}
