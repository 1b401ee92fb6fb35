//! Scripts of `xtask/data` that drive peers and print one row of the table per line.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::InteropError;
use super::table::{Row, Table};

/// The options of a task that drives a program with the peers of a directory.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) directory: PathBuf,
    pub(super) binary: PathBuf,
    /// The parts to run; all if it is empty.
    pub(super) only: Vec<String>,
}

impl Options {
    /// Parses `[--dir PATH] --binary PATH [--only PARTS]`.
    pub(super) fn parse(kind: &str, arguments: &[&str]) -> Result<Self, InteropError> {
        let (mut directory, mut binary, mut only) = (super::default_directory(), None, Vec::new());
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match (*argument, rest.next()) {
                ("--dir", Some(path)) => directory = Some(PathBuf::from(path)),
                ("--binary", Some(path)) => binary = Some(PathBuf::from(path)),
                ("--only", Some(parts)) => only = parts.split(',').map(str::to_owned).collect(),
                _ => return Err(InteropError::Usage(format!("{kind} {}", arguments.join(" ")))),
            }
        }
        let without = || InteropError::Usage(format!("{kind} without --binary"));
        let (directory, binary) =
            (directory.ok_or(InteropError::NoDirectory)?, binary.ok_or_else(without)?);
        Ok(Self { directory: absolute(&directory)?, binary: absolute(&binary)?, only })
    }

    /// Returns whether a part was asked for.
    pub(super) fn wants(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|wanted| wanted == part)
    }
}

fn absolute(path: &Path) -> Result<PathBuf, InteropError> {
    std::path::absolute(path)
        .map_err(|source| InteropError::Io { what: format!("find {}", path.display()), source })
}

/// Runs a script and adds its rows to the table.
pub(super) fn run(
    peer: &str,
    command: &mut Command,
    table: &mut Table,
) -> Result<(), InteropError> {
    // Peers are on this machine; a configured proxy must not be used.
    let output = command
        .env("NO_PROXY", "127.0.0.1")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stderr(Stdio::inherit())
        .output()
        .map_err(|source| InteropError::Io { what: format!("run {peer}"), source })?;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        match serde_json::from_str::<Row>(line) {
            Ok(row) => table.add(peer, row),
            Err(error) => table.fail(peer, &format!("{error} in {line}")),
        }
    }
    if !output.status.success() {
        table.fail(peer, "the script did not come to its end");
    }
    Ok(())
}

/// Prints the table and returns its verdict.
pub(super) fn verdict(table: &Table, directory: PathBuf) -> Result<(), InteropError> {
    table.print();
    match (table.failures(), table.ran()) {
        (0, false) => Err(InteropError::NothingRan(directory)),
        (0, true) => Ok(()),
        (failures, _) => Err(InteropError::Failed(failures)),
    }
}
