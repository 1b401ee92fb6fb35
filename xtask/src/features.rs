//! `cargo xtask features`: lints `pi` with parts left out, and runs the slim program.

use std::process::Output;

use crate::repository;

/// Sets of features that must build, beside the full one.
const SETS: &[&str] = &["", "slim", "extensions,screen"];

/// Commands of the slim program, with the exit code and a part of the output of each.
const COMMANDS: &[(&[&str], i32, &str)] = &[
    (&["--version"], 0, ""),
    (&["demo"], 0, ""),
    (&["extension", "check", "x.ts"], 7, "`extensions` is not part of this build of pi"),
    (&["config", "schema", "task"], 0, "\"$schema\""),
];

/// Errors of the task.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FeaturesError {
    #[error("usage: cargo xtask features")]
    Usage,
    #[error("cannot run a program: {0}")]
    Run(#[from] std::io::Error),
    #[error("pi does not build with the features \"{0}\"")]
    Build(&'static str),
    #[error(
        "the slim `pi {command}` ended with {code:?} instead of {expected}, and printed:\n{text}"
    )]
    Ran { command: String, code: Option<i32>, expected: i32, text: String },
}

/// Checks the sets of features.
pub(crate) fn run(arguments: &[&str]) -> Result<(), FeaturesError> {
    if !arguments.is_empty() {
        return Err(FeaturesError::Usage);
    }
    for set in SETS {
        cargo("clippy", set, &["--", "-D", "warnings"])?;
    }
    cargo("build", "slim", &[])?;
    COMMANDS.iter().try_for_each(|(words, expected, part)| check(words, *expected, part))
}

fn cargo(verb: &str, set: &'static str, rest: &[&str]) -> Result<(), FeaturesError> {
    let mut cargo = repository::cargo();
    cargo.args([verb, "--locked", "--quiet", "--package", "pi", "--no-default-features"]);
    cargo.args(["--features", set]).args(rest);
    if cargo.status()?.success() { Ok(()) } else { Err(FeaturesError::Build(set)) }
}

fn check(words: &[&str], expected: i32, part: &str) -> Result<(), FeaturesError> {
    let home = repository::path("target/features");
    std::fs::create_dir_all(&home)?;
    let program = repository::path("target/debug/pi");
    let Output { status, stdout, stderr } = std::process::Command::new(program)
        .args(words)
        .current_dir(&home)
        .env("HOME", &home)
        .env_remove("PI_CODING_AGENT_DIR")
        .output()?;
    let text = [stdout, stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    if status.code() == Some(expected) && text.contains(part) {
        return Ok(());
    }
    Err(FeaturesError::Ran { command: words.join(" "), code: status.code(), expected, text })
}
