//! Comparison with pi 1.5.0: the same scenarios must produce the same transcripts.
//!
//! The files of `tests/scenarios` contain the transcripts of pi 1.5.0; see the README there. The
//! tests run the scenarios that are marked `same` or `differs` with our binary. `cargo xtask interop
//! modes` runs them with the real pi, through the ignored tests at the end.

mod compare;
pub(crate) mod format;
mod normal;
mod runner;
pub(crate) mod server;
mod transcript;

use std::collections::BTreeSet;
use std::path::PathBuf;

use format::{Ours, Scenario};
use runner::Program;
use serde_json::Value;

/// Returns our binary.
fn ours() -> Program {
    let path = PathBuf::from(env!("CARGO_BIN_EXE_pi"));
    Program { home: path.clone(), path, first: Vec::new() }
}

/// Returns the TypeScript pi of `PI_PEER_DIR`.
fn theirs() -> Program {
    let package = PathBuf::from(std::env::var_os("PI_PEER_DIR").expect("PI_PEER_DIR: its package"));
    let node = std::env::var_os("NODE").unwrap_or_else(|| "node".into());
    let home = package.canonicalize().expect("PI_PEER_DIR: its package");
    Program { path: node.into(), first: vec![home.join("dist/bundle/cli.js")], home }
}

/// Returns the scenarios whose names contain one of the words in `PI_SCENARIOS`.
fn selected() -> Vec<Scenario> {
    let part = std::env::var_os("PI_SCENARIOS").unwrap_or_default();
    let part = part.to_string_lossy().into_owned();
    let parts: Vec<&str> = part.split(',').collect();
    let mut scenarios = format::load().unwrap();
    scenarios.retain(|scenario| parts.iter().any(|part| scenario.name.contains(part)));
    scenarios
}

/// Runs a scenario and returns its transcript.
fn run(scenario: &Scenario, program: &Program) -> Result<Value, String> {
    runner::run(scenario, program).map(|observed| transcript::transcript(&observed))
}

/// Runs a scenario and returns the difference from the expected transcript, or the failure.
fn check(scenario: &Scenario, program: &Program, expected: &Value) -> Option<String> {
    match run(scenario, program) {
        Ok(seen) => compare::difference(expected, &seen),
        Err(problem) => Some(problem),
    }
}

/// Compares transcripts of this program. With `PI_RECORD_OURS`, scenarios that differ from pi on
/// purpose are recorded anew: read the diff before you commit it.
#[test]
fn transcripts_are_as_expected() {
    let record = std::env::var_os("PI_RECORD_OURS").is_some();
    let mut failures = Vec::new();
    for mut scenario in selected() {
        if record && scenario.ours == Ours::Differs {
            scenario.expected_ours = Some(run(&scenario, &ours()).unwrap());
            format::save(&scenario).unwrap();
        }
        let expected = match scenario.ours {
            Ours::Pending => continue,
            Ours::Same => &scenario.expected,
            Ours::Differs => scenario.expected_ours.as_ref().unwrap(),
        };
        if let Some(problem) = check(&scenario, &ours(), expected) {
            failures.push(format!("{}: {problem}", scenario.name));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn scenario_files_are_complete_and_formatted() {
    let scenarios = format::load().unwrap();
    assert!(scenarios.len() >= 60, "{}", scenarios.len());
    let mut abouts = BTreeSet::new();
    for scenario in &scenarios {
        let name = &scenario.name;
        assert!(abouts.insert(&scenario.about), "{name}: duplicate `about`");
        assert!(!scenario.expected.is_null(), "{name}: not recorded");
        let differs = scenario.ours == Ours::Differs;
        assert_eq!(scenario.expected_ours.is_some(), differs, "{name}: expected_ours");
        assert_eq!(scenario.reason.is_some(), differs, "{name}: reason");
        assert_ne!(scenario.expected_ours.as_ref(), Some(&scenario.expected), "{name}: the same");
        let path = format!("{}/tests/scenarios/{name}.json", env!("CARGO_MANIFEST_DIR"));
        assert!(format::text(scenario) == std::fs::read_to_string(path).unwrap(), "{name}: layout");
    }
}

/// Compares the files with the real pi, or updates them if `PI_RECORD` is set.
#[test]
#[ignore = "needs the TypeScript pi; cargo xtask interop modes"]
fn the_real_pi_matches_the_record() {
    let record = std::env::var_os("PI_RECORD").is_some();
    let mut failures = 0;
    for mut scenario in selected() {
        match run(&scenario, &theirs()) {
            Ok(seen) if record => {
                scenario.expected = seen;
                format::save(&scenario).unwrap();
                println!("{}: recorded", scenario.name);
            }
            Ok(seen) => match compare::difference(&scenario.expected, &seen) {
                None => println!("{}: the same", scenario.name),
                Some(difference) => {
                    failures += 1;
                    println!("{}: differs {difference}", scenario.name);
                }
            },
            Err(problem) => {
                failures += 1;
                println!("{}: {problem}", scenario.name);
            }
        }
    }
    assert_eq!(failures, 0);
}

/// Shows the differences of pending scenarios. With `PI_RECORD`, equal scenarios are marked `same`;
/// with `PI_REASON` as well, the others are marked `differs`.
#[test]
#[ignore = "a report, not a test; cargo xtask interop modes --pending"]
fn pending_scenarios_are_shown() {
    let record = std::env::var_os("PI_RECORD").is_some();
    let reason = std::env::var_os("PI_REASON").filter(|reason| !reason.is_empty());
    let reason = reason.map(|reason| reason.to_string_lossy().into_owned());
    for mut scenario in selected().into_iter().filter(|scenario| scenario.ours == Ours::Pending) {
        let seen = match run(&scenario, &ours()) {
            Ok(seen) => seen,
            Err(problem) => {
                println!("{}: {problem}", scenario.name);
                continue;
            }
        };
        match compare::difference(&scenario.expected, &seen) {
            None => {
                println!("{}: the same", scenario.name);
                scenario.ours = Ours::Same;
            }
            Some(difference) => {
                println!("{}: {difference}", scenario.name);
                if reason.is_some() {
                    scenario.ours = Ours::Differs;
                    scenario.reason.clone_from(&reason);
                    scenario.expected_ours = Some(seen);
                }
            }
        }
        if record && scenario.ours != Ours::Pending {
            format::save(&scenario).unwrap();
        }
    }
}
