//! Where things are, and how to start the tools of the toolchain.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A path in the repository, given from its root.
pub(crate) fn path(relative: &str) -> PathBuf {
    root().join(relative)
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

/// The cargo that runs this, in the root of the repository.
pub(crate) fn cargo() -> Command {
    tool("CARGO", "cargo")
}

/// The program that `variable` names, or else `name`, in the root of the repository.
pub(crate) fn tool(variable: &str, name: &str) -> Command {
    let program = std::env::var_os(variable).unwrap_or_else(|| name.into());
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}
