//! `cargo xtask interop harbor [--dir PATH] --binary PATH`: the benchmark harness Harbor drives
//! `pi run`, with the adapter of `packaging/harbor` and a scripted model.
//!
//! No container: the environment is an overlay over the root directory, which requires root.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::InteropError;
use super::table::{Row, Table};
use crate::repository;

/// The name of this task.
pub(super) const KIND: &str = "harbor";

const PYTHON: &str = "v-harbor/bin/python";
const INSTALL: &str = "python3.12 -m venv v-harbor && v-harbor/bin/pip install harbor";

/// Runs the task with the arguments after its name.
pub(super) fn run(arguments: &[&str]) -> Result<(), InteropError> {
    let (mut directory, mut binary) = (super::default_directory(), None);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let value = rest.next().map(PathBuf::from);
        match (*argument, value) {
            ("--dir", Some(path)) => directory = Some(path),
            ("--binary", Some(path)) => binary = Some(path),
            _ => return Err(InteropError::Usage(arguments.join(" "))),
        }
    }
    let directory = directory.ok_or(InteropError::NoDirectory)?;
    let binary = binary.ok_or_else(|| InteropError::Usage("harbor without --binary".to_owned()))?;
    let absolute = |path: PathBuf| std::path::absolute(path).map_err(io("find a path"));
    let (directory, binary) = (absolute(directory)?, absolute(binary)?);
    let mut table = Table::default();
    let python = directory.join(PYTHON);
    if !python.exists() {
        table.skip(KIND, &format!("{PYTHON} is missing; to install: {INSTALL}"));
        table.print();
        return Err(InteropError::NothingRan(directory));
    }
    let output = Command::new(python)
        .arg(repository::path("xtask/data/interop/harbor/harness.py"))
        .arg(binary)
        .arg(repository::path("packaging/harbor"))
        .stderr(Stdio::inherit())
        .output()
        .map_err(io("run the harness"))?;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        match serde_json::from_str::<Row>(line) {
            Ok(row) => table.add(KIND, row),
            Err(error) => table.fail(KIND, &format!("{error} in {line}")),
        }
    }
    if !output.status.success() {
        table.fail(KIND, "the harness did not come to its end");
    }
    table.print();
    match table.failures() {
        0 => Ok(()),
        failures => Err(InteropError::Failed(failures)),
    }
}

fn io(what: &str) -> impl FnOnce(std::io::Error) -> InteropError {
    let what = what.to_owned();
    move |source| InteropError::Io { what, source }
}
