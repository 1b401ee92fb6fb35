//! `cargo xtask crash [tools|auth|run|edits] [--runs N] [--seed N] [--peer DIR]`: kills processes that
//! write sessions (or files, through the tools, or renewed logins, or unattended runs) and checks that
//! no data is lost and no tool call is executed twice. `edits` has a user who edits files meanwhile.
//!
//! The runs are tests of pi-session, pi-tools and pi that ordinary test runs skip, since hundreds of
//! them take minutes; see `crates/pi-session/tests/it/crash.rs`,
//! `crates/pi-tools/tests/it/crash_runs.rs`, `crates/pi/tests/it/renewal.rs`,
//! `crates/pi/tests/it/converge/crash.rs` and `interleavings.rs` beside it. With `--peer`, the TypeScript pi in that directory
//! must find the same number of entries in every session. Full and read-only disks are tested as
//! root; for tools also without, if user namespaces are permitted.

use std::io;

use crate::repository;

/// Errors of the task, lost data included.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CrashError {
    #[error(
        "usage: cargo xtask crash [tools|auth|run|edits] [--runs N] [--seed N] [--peer DIR], not {0:?}"
    )]
    Usage(String),
    #[error("cannot run cargo: {0}")]
    Run(#[from] io::Error),
    #[error("acknowledged data is lost, or a file cannot be opened: see above")]
    Failed,
}

/// Runs the crash tests.
pub(crate) fn run(arguments: &[&str]) -> Result<(), CrashError> {
    let (package, test, arguments) = match arguments {
        ["tools", rest @ ..] => ("pi-tools", "crash_runs::many_runs", rest),
        ["auth", rest @ ..] => ("pi", "renewal::many_kills", rest),
        ["edits", rest @ ..] => ("pi", "converge::interleavings::many_runs", rest),
        ["run", rest @ ..] => ("pi", "converge::crash::many_runs", rest),
        rest => ("pi-session", "crash::many_runs", rest),
    };
    let settings = parse(arguments)?;
    let status = repository::cargo()
        .args(["test", "--quiet", "--package", package, "--test", "it", "--"])
        .args(["--ignored", "--exact", test, "--nocapture"])
        .envs(settings)
        .status()?;
    if status.success() { Ok(()) } else { Err(CrashError::Failed) }
}

/// Converts the arguments to the environment of the test.
fn parse(arguments: &[&str]) -> Result<Vec<(&'static str, String)>, CrashError> {
    let mut settings = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let usage = || CrashError::Usage((*argument).to_owned());
        let value = rest.next().ok_or_else(usage)?;
        let variable = match *argument {
            "--runs" => "PI_CRASH_RUNS",
            "--seed" => "PI_CRASH_SEED",
            "--peer" => "PI_PEER_DIR",
            _ => return Err(usage()),
        };
        let value = match *argument {
            // The test runs in the directory of its crate.
            "--peer" => std::path::absolute(value)?.display().to_string(),
            _ => value.parse::<u64>().map_err(|_| usage())?.to_string(),
        };
        settings.push((variable, value));
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments() {
        assert_eq!(parse(&[]).unwrap(), []);
        let some = parse(&["--runs", "7", "--peer", "/pi"]).unwrap();
        assert_eq!(some, [("PI_CRASH_RUNS", "7".to_owned()), ("PI_PEER_DIR", "/pi".to_owned())]);
        for bad in [&["--runs"][..], &["--runs", "x"], &["nonsense", "1"]] {
            assert!(matches!(parse(bad), Err(CrashError::Usage(_))), "{bad:?}");
        }
    }
}
