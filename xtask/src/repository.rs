//! Paths of the repository, and commands of the toolchain.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns a path in the repository, relative to its root.
pub(crate) fn path(relative: &str) -> PathBuf {
    root().join(relative)
}

/// Returns the root of the repository.
pub(crate) fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

/// Returns the cargo that runs this program, in the root of the repository.
pub(crate) fn cargo() -> Command {
    tool("CARGO", "cargo")
}

/// Returns the program in `variable`, or else `name`, in the root of the repository.
pub(crate) fn tool(variable: &str, name: &str) -> Command {
    let program = std::env::var_os(variable).unwrap_or_else(|| name.into());
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}
