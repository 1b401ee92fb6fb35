//! `cargo xtask test [ARGUMENT...]`: installs the programs that tests need, then runs
//! `cargo test --workspace` with the given arguments. Without arguments, the tests of the sandbox run
//! again in other set-ups; `cargo xtask test set-ups` runs only these.
//!
//! A program that cannot be installed is named together with its tests, and the tests run all the
//! same. Nothing uses the network if every program is present.

#[cfg(unix)]
mod ordinary;
mod programs;
mod python;

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use programs::Installer;

use crate::{report, repository};

/// Errors of the task.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TestError {
    #[error("cannot run cargo: {0}")]
    Run(#[from] io::Error),
    #[error("tests failed: see above")]
    Failed,
}

/// Installs missing programs and runs the tests.
pub(crate) fn run(arguments: &[&str]) -> Result<(), TestError> {
    install_missing();
    if *arguments != ["set-ups"] {
        let mut tests = repository::cargo();
        tests.args(["test", "--workspace"]).args(arguments);
        if let Some(path) = python::search_path(exists) {
            tests.env("PATH", path);
        }
        if !tests.status()?.success() {
            return Err(TestError::Failed);
        }
        if !arguments.is_empty() {
            return Ok(());
        }
    }
    #[cfg(unix)]
    return ordinary::run();
    #[cfg(not(unix))]
    Ok(())
}

/// Installs what is missing, if permitted, and names what is still missing afterwards.
fn install_missing() {
    let missing = programs::missing(exists);
    if missing.is_empty() {
        return;
    }
    let installer = installer();
    if let Some(command) = installer.command() {
        let packages = programs::packages(&missing);
        report(&format!("Installing {}", packages.join(" ")));
        let update = ["update", "-qq"];
        let install = ["install", "-y", "-qq", "--no-install-recommends"];
        // Old package lists may still do, so a failed update does not end the attempt.
        apt(command, &update, &[]);
        apt(command, &install, &packages);
    }
    let missing = programs::missing(exists);
    if !missing.is_empty() {
        report(&programs::report(&missing, installer));
    }
}

/// Runs `apt-get`, which prints its own errors. The result shows in the programs that exist.
fn apt(command: &[&str], arguments: &[&str], packages: &[&str]) {
    let Some((program, rest)) = command.split_first() else { return };
    let status = Command::new(program)
        .args(rest)
        .args(arguments)
        .args(packages)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    if let Err(error) = status {
        report(&format!("cannot run {program}: {error}"));
    }
}

fn installer() -> Installer {
    let succeeds = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let id = Command::new("id").arg("-u").output();
    let is_root = id.is_ok_and(|id| id.stdout.trim_ascii() == b"0");
    let has_sudo = !is_root && exists("sudo") && succeeds("sudo", &["-n", "true"]);
    Installer::choose(exists("apt-get"), is_root, has_sudo)
}

/// Returns true if the program is an absolute path to a file or the name of a file in `PATH`.
fn exists(program: &str) -> bool {
    if program.starts_with('/') {
        return Path::new(program).is_file();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory: PathBuf| directory.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_by_name_and_by_path() {
        assert!(exists("cargo") || exists("rustc"));
        assert!(exists("/bin/sh"));
        assert!(!exists("/bin"));
        assert!(!exists("no-such-program-anywhere"));
    }
}
