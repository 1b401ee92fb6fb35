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
    // Cargo describes this package to this program. Build scripts that read the description, such as
    // that of ring, would run again for every crate above them.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(name.as_ref());
        }
    }
    command
}
