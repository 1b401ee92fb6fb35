//! The test runners and linters of Python that tests start: in the search path, or installed into a
//! virtual environment below `target`.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::{report, repository};

/// Programs with the versions that are installed.
const TOOLS: &[(&str, &str)] = &[
    ("pytest", "pytest==9.2.0"),
    ("ruff", "ruff==0.17.5"),
    ("mypy", "mypy==2.4.1"),
    ("flake8", "flake8==7.5.0"),
];
const NEEDED_BY: &str = "lies about tests and linters of Python (pi: converge)";

/// Returns the search path for tests if it has to change. Installs what is missing.
pub(super) fn search_path(exists: impl Fn(&str) -> bool) -> Option<OsString> {
    let missing: Vec<&str> =
        TOOLS.iter().map(|(name, _)| *name).filter(|name| !exists(name)).collect();
    if missing.is_empty() {
        return None;
    }
    let environment = repository::path("target/test-tools/python");
    let programs = environment.join("bin");
    let is_complete = || TOOLS.iter().all(|(name, _)| programs.join(name).is_file());
    if !is_complete() {
        report(&format!("Installing {} with pip", missing.join(" ")));
        install(&environment);
    }
    if !is_complete() {
        let missing = missing.join(", ");
        report(&format!("Without {missing}, these tests say that they skip a part: {NEEDED_BY}"));
        return None;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths([programs].into_iter().chain(std::env::split_paths(&path))).ok()
}

/// Creates the environment. The programs print their own errors, and the result shows in the files.
fn install(environment: &Path) {
    let succeeds = |command: &mut Command| {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        match command.status() {
            Ok(status) => status.success(),
            Err(error) => {
                report(&format!("cannot run {}: {error}", command.get_program().display()));
                false
            }
        }
    };
    let mut create = Command::new("python3");
    if !succeeds(create.args(["-m", "venv", "--clear"]).arg(environment)) {
        return;
    }
    let mut install = Command::new(environment.join("bin/python"));
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    succeeds(install.args(TOOLS.iter().map(|(_, version)| *version)));
}
