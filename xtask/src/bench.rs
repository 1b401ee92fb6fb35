//! `cargo xtask bench [--quick] [PART...]`: measures the CPU time and memory of streams, turns of
//! the loop, sessions, searches, commands, the program itself, its guard, its screen, its extensions and
//! MCP servers.
//!
//! Builds this program again with the `bench` profile (the code that ships, with symbols) and its
//! `bench` feature, and runs that. It prints numbers and marks those over budget. A number over
//! budget is not a failure, since the machine may be busy. CPU time, not wall time.

#[cfg(any(feature = "bench", test))]
mod agent;
#[cfg(any(feature = "bench", test))]
mod clock;
#[cfg(any(feature = "bench", test))]
mod commands;
#[cfg(any(feature = "bench", test))]
mod extensions;
#[cfg(any(feature = "bench", test))]
mod feed;
#[cfg(all(target_os = "linux", any(feature = "bench", test)))]
mod guard;
#[cfg(any(feature = "bench", test))]
mod mcp;
#[cfg(any(feature = "bench", test))]
mod modes;
#[cfg(any(feature = "bench", test))]
mod process;
#[cfg(any(feature = "bench", test))]
mod search;
#[cfg(any(feature = "bench", test))]
mod sessions;
#[cfg(any(feature = "bench", test))]
mod streams;
#[cfg(any(feature = "bench", test))]
mod tables;
#[cfg(all(target_os = "linux", any(feature = "bench", test)))]
mod tui;

use std::io;

use crate::repository;

#[cfg(any(feature = "bench", test))]
pub(crate) use commands::perform;

/// Parts that can be measured separately.
const PARTS: [&str; 10] = [
    "streams",
    "agent",
    "sessions",
    "search",
    "commands",
    "modes",
    "guard",
    "tui",
    "extensions",
    "mcp",
];

/// Errors of the task.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    #[error("usage: cargo xtask bench [--quick] [PART...], where PART is one of {PARTS:?}")]
    Usage,
    #[error("cannot run cargo: {0}")]
    Run(#[from] io::Error),
    #[error("the bench did not build or did not finish")]
    Failed,
    #[cfg(not(any(feature = "bench", test)))]
    #[error("built without the `bench` feature: run `cargo xtask bench`")]
    NotBuilt,
}

/// Builds the real bench and runs it.
pub(crate) fn run(arguments: &[&str]) -> Result<(), BenchError> {
    Selection::parse(arguments)?;
    let status = repository::cargo()
        .args(["run", "--quiet", "--locked", "--profile", "bench"])
        .args(["--package", "xtask", "--features", "bench", "--", "bench-inner"])
        .args(arguments)
        .status()?;
    if status.success() { Ok(()) } else { Err(BenchError::Failed) }
}

/// Measures in this process.
#[cfg(any(feature = "bench", test))]
pub(crate) fn measure(arguments: &[&str]) -> Result<(), BenchError> {
    let Selection { quick, parts } = Selection::parse(arguments)?;
    let clock = clock::Clock::choose();
    for part in parts {
        match part {
            "streams" => tables::print(clock, quick),
            "agent" => agent::print(clock, quick),
            "sessions" => sessions::print(clock, quick),
            "search" => search::print(quick),
            "modes" => modes::print(quick),
            "extensions" => extensions::print(quick),
            "mcp" => mcp::print(clock, quick),
            #[cfg(target_os = "linux")]
            "guard" => guard::print(quick),
            #[cfg(target_os = "linux")]
            "tui" => tui::print(quick),
            #[cfg(not(target_os = "linux"))]
            "guard" | "tui" => {}
            _ => commands::print(clock, quick),
        }
    }
    Ok(())
}

/// Reports that the bench was not built.
#[cfg(not(any(feature = "bench", test)))]
pub(crate) fn measure(_arguments: &[&str]) -> Result<(), BenchError> {
    Err(BenchError::NotBuilt)
}

/// The parsed arguments.
#[derive(Debug, PartialEq, Eq)]
struct Selection {
    quick: bool,
    parts: Vec<&'static str>,
}

impl Selection {
    fn parse(arguments: &[&str]) -> Result<Self, BenchError> {
        let (quick, names) = match arguments {
            ["--quick", names @ ..] => (true, names),
            names => (false, names),
        };
        let part = |name: &&str| PARTS.into_iter().find(|part| part == name);
        let parts: Option<Vec<_>> = names.iter().map(part).collect();
        let parts = parts.ok_or(BenchError::Usage)?;
        Ok(Self { quick, parts: if parts.is_empty() { PARTS.to_vec() } else { parts } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments() {
        let parse = |arguments: &[&str]| Selection::parse(arguments).unwrap();
        assert_eq!(parse(&[]), Selection { quick: false, parts: PARTS.to_vec() });
        assert_eq!(parse(&["--quick"]), Selection { quick: true, parts: PARTS.to_vec() });
        let some = Selection { quick: true, parts: vec!["search", "agent"] };
        assert_eq!(parse(&["--quick", "search", "agent"]), some);
        for bad in ["--quik", "serch"] {
            assert!(matches!(measure(&[bad]), Err(BenchError::Usage)), "{bad}");
        }
    }
}
