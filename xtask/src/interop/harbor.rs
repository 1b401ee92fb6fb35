//! `cargo xtask interop harbor [--dir PATH] --binary PATH`: the benchmark harness Harbor drives
//! `pi run`, with the adapter of `packaging/harbor` and a scripted model.
//!
//! No container: the environment is an overlay over the root directory, which requires root.

use std::process::Command;

use super::InteropError;
use super::scripts::{self, Options};
use super::table::Table;
use crate::repository;

/// The name of this task.
pub(super) const KIND: &str = "harbor";

const PYTHON: &str = "v-harbor/bin/python";
const INSTALL: &str = "python3.12 -m venv v-harbor && v-harbor/bin/pip install harbor";

/// Runs the task with the arguments after its name.
pub(super) fn run(arguments: &[&str]) -> Result<(), InteropError> {
    let Options { directory, binary, .. } = Options::parse(KIND, arguments)?;
    let mut table = Table::default();
    let python = directory.join(PYTHON);
    if !python.exists() {
        table.skip(KIND, &format!("{PYTHON} is missing; to install: {INSTALL}"));
        return scripts::verdict(&table, directory);
    }
    let mut command = Command::new(python);
    command.arg(repository::path("xtask/data/interop/harbor/harness.py"));
    command.arg(binary).arg(repository::path("packaging/harbor"));
    scripts::run(KIND, &mut command, &mut table)?;
    scripts::verdict(&table, directory)
}
