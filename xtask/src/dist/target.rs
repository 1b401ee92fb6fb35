//! The platforms of a release.

use std::path::PathBuf;

use super::{DistError, run_tool};
use crate::repository;

/// A platform.
pub(super) struct Target {
    /// Name in Rust.
    pub(super) triple: &'static str,
    /// Name in Debian.
    pub(super) debian: &'static str,
    /// Name of the processor in npm.
    pub(super) npm: &'static str,
    /// Compiler for the parts in C.
    compiler: &'static str,
}

impl Target {
    /// All platforms. With musl, a binary is static and runs on every Linux.
    pub(super) const ALL: &[Self] = &[
        Self {
            triple: "x86_64-unknown-linux-musl",
            debian: "amd64",
            npm: "x64",
            compiler: "musl-gcc",
        },
        Self {
            triple: "aarch64-unknown-linux-musl",
            debian: "arm64",
            npm: "arm64",
            compiler: "aarch64-linux-gnu-gcc",
        },
    ];

    pub(super) fn find(triple: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|target| target.triple == triple)
    }

    /// Builds the binary and returns its path.
    pub(super) fn build(&self, profile: &str) -> Result<PathBuf, DistError> {
        let lower = self.triple.replace('-', "_");
        let upper = lower.to_uppercase();
        let mut rustup = repository::tool("RUSTUP", "rustup");
        run_tool(rustup.args(["target", "add", self.triple]), "rustup")?;
        let mut cargo = repository::cargo();
        cargo
            .args(["build", "--locked", "--package", "pi", "--target", self.triple])
            .args(["--profile", profile])
            .env(format!("CC_{lower}"), self.compiler)
            // The linker of the Rust toolchain, with its own musl: `musl-gcc` would add a second
            // start-up code.
            .env(format!("CARGO_TARGET_{upper}_LINKER"), "rust-lld");
        run_tool(&mut cargo, "cargo")?;
        let directory = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
            || repository::path("target"),
            |directory| repository::root().join(directory),
        );
        let profile = if profile == "dev" { "debug" } else { profile };
        Ok(directory.join(self.triple).join(profile).join("pi"))
    }
}
