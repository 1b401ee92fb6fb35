//! The program beside pi 1.5.0: the same scenarios, the same transcripts.
//!
//! The files of `tests/scenarios` hold what pi 1.5.0 did; see the README there. Here our binary
//! plays those that are marked `same` or `differs`. `cargo xtask interop modes` plays them with
//! the real one, through the ignored tests at the end.

mod compare;
pub(crate) mod format;
mod normal;
pub(crate) mod server;
mod stage;
mod transcript;

use std::collections::BTreeSet;
use std::path::PathBuf;

use format::{Ours, Scenario};
use serde_json::Value;
use stage::Program;

fn ours() -> Program {
    let path = PathBuf::from(env!("CARGO_BIN_EXE_pi"));
    Program { home: path.clone(), path, first: Vec::new() }
}

/// The TypeScript pi that the environment names.
fn theirs() -> Program {
    let package = PathBuf::from(std::env::var_os("PI_PEER_DIR").expect("PI_PEER_DIR: its package"));
    let node = std::env::var_os("NODE").unwrap_or_else(|| "node".into());
    let home = package.canonicalize().expect("PI_PEER_DIR: its package");
    Program { path: node.into(), first: vec![home.join("dist/bundle/cli.js")], home }
}

/// The scenarios whose name has the text of `PI_SCENARIOS` in it.
fn wanted() -> Vec<Scenario> {
    let part = std::env::var_os("PI_SCENARIOS").unwrap_or_default();
    let part = part.to_string_lossy().into_owned();
    let parts: Vec<&str> = part.split(',').collect();
    let mut scenarios = format::load().unwrap();
    scenarios.retain(|scenario| parts.iter().any(|part| scenario.name.contains(part)));
    scenarios
}

fn play(scenario: &Scenario, program: &Program) -> Result<Value, String> {
    stage::play(scenario, program).map(|seen| transcript::transcript(&seen))
}

/// What is not as it should be: the program's end, or a difference.
fn check(scenario: &Scenario, program: &Program, expected: &Value) -> Option<String> {
    match play(scenario, program) {
        Ok(seen) => compare::difference(expected, &seen),
        Err(problem) => Some(problem),
    }
}

#[test]
fn our_transcripts_are_as_expected() {
    let mut failures = Vec::new();
    for scenario in wanted() {
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
fn scenarios_are_complete_and_laid_out() {
    let scenarios = format::load().unwrap();
    assert!(scenarios.len() >= 60, "{}", scenarios.len());
    let mut told = BTreeSet::new();
    for scenario in &scenarios {
        let name = &scenario.name;
        assert!(told.insert(&scenario.about), "{name}: two scenarios are about the same");
        assert!(!scenario.expected.is_null(), "{name}: not recorded");
        let differs = scenario.ours == Ours::Differs;
        assert_eq!(scenario.expected_ours.is_some(), differs, "{name}: expected_ours");
        assert_eq!(scenario.reason.is_some(), differs, "{name}: reason");
        assert_ne!(scenario.expected_ours.as_ref(), Some(&scenario.expected), "{name}: the same");
        let path = format!("{}/tests/scenarios/{name}.json", env!("CARGO_MANIFEST_DIR"));
        assert!(format::text(scenario) == std::fs::read_to_string(path).unwrap(), "{name}: layout");
    }
}

/// Compares the files with the real pi, or writes them if `PI_RECORD` is set.
#[test]
#[ignore = "needs the TypeScript pi; cargo xtask interop modes"]
fn the_real_pi_does_what_is_recorded() {
    let record = std::env::var_os("PI_RECORD").is_some();
    let mut failures = 0;
    for mut scenario in wanted() {
        match play(&scenario, &theirs()) {
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

/// Shows how far our program is with those that are pending. `PI_RECORD` marks what is the same,
/// and with `PI_REASON` what is not.
#[test]
#[ignore = "a report, not a test; cargo xtask interop modes --pending"]
fn pending_scenarios_are_shown() {
    let record = std::env::var_os("PI_RECORD").is_some();
    let reason = std::env::var_os("PI_REASON").filter(|reason| !reason.is_empty());
    let reason = reason.map(|reason| reason.to_string_lossy().into_owned());
    for mut scenario in wanted().into_iter().filter(|scenario| scenario.ours == Ours::Pending) {
        let seen = match play(&scenario, &ours()) {
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
