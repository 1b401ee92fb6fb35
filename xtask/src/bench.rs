//! `cargo xtask bench [--quick]`: what a stream, a turn of the loop, sessions and searches cost.
//!
//! Builds this program again with the `bench` profile (the code that ships, with symbols) and its
//! `bench` feature, and runs that. It shows numbers and marks those over budget; it never fails
//! because of one, since a busy machine is no defect. CPU time, not wall time.

#[cfg(any(feature = "bench", test))]
mod agent;
#[cfg(any(feature = "bench", test))]
mod clock;
#[cfg(any(feature = "bench", test))]
mod feed;
#[cfg(any(feature = "bench", test))]
mod search;
#[cfg(any(feature = "bench", test))]
mod sessions;
#[cfg(any(feature = "bench", test))]
mod streams;
#[cfg(any(feature = "bench", test))]
mod tables;

use std::io;

use crate::repository;

/// Why there are no numbers.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    #[error("usage: cargo xtask bench [--quick]")]
    Usage,
    #[error("cannot run cargo: {0}")]
    Run(#[from] io::Error),
    #[error("the bench did not build or did not finish")]
    Failed,
    #[cfg(not(any(feature = "bench", test)))]
    #[error("built without the `bench` feature: run `cargo xtask bench`")]
    NotBuilt,
}

/// Runs the task: builds the real bench and runs it.
pub(crate) fn run(arguments: &[&str]) -> Result<(), BenchError> {
    is_quick(arguments)?;
    let status = repository::cargo()
        .args(["run", "--quiet", "--locked", "--profile", "bench"])
        .args(["--package", "xtask", "--features", "bench", "--", "bench-inner"])
        .args(arguments)
        .status()?;
    if status.success() { Ok(()) } else { Err(BenchError::Failed) }
}

/// Measures, in this process.
#[cfg(any(feature = "bench", test))]
pub(crate) fn measure(arguments: &[&str]) -> Result<(), BenchError> {
    let quick = is_quick(arguments)?;
    let clock = clock::Clock::choose();
    tables::print(clock, quick);
    agent::print(clock, quick);
    sessions::print(clock, quick);
    search::print(quick);
    Ok(())
}

/// Says what is missing.
#[cfg(not(any(feature = "bench", test)))]
pub(crate) fn measure(_arguments: &[&str]) -> Result<(), BenchError> {
    Err(BenchError::NotBuilt)
}

fn is_quick(arguments: &[&str]) -> Result<bool, BenchError> {
    match arguments {
        [] => Ok(false),
        ["--quick"] => Ok(true),
        _ => Err(BenchError::Usage),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments() {
        assert!(!is_quick(&[]).unwrap());
        assert!(is_quick(&["--quick"]).unwrap());
        assert!(matches!(is_quick(&["--quik"]), Err(BenchError::Usage)));
        assert!(matches!(measure(&["x"]), Err(BenchError::Usage)));
    }
}
