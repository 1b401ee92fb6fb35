//! Tests of a program by JavaScript drivers, which use the package of the TypeScript pi.
//!
//! `cargo xtask interop rpc-client`: drives the program with the RPC client of the package, a
//! JavaScript class. `cargo xtask interop requests`: compares the program's requests with those of
//! the package, for one model per provider and format. The drivers bring their scripted models.
//! Without `--binary` the package tests itself, as a check of the test.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::table::{Row, Table};
use super::{InteropError, comparison};
use crate::repository;

/// A driver.
#[derive(Debug)]
pub(super) struct Driver {
    /// The name of the task.
    pub(super) kind: &'static str,
    script: &'static str,
}

/// All drivers.
pub(super) const DRIVERS: &[Driver] = &[
    Driver { kind: "rpc-client", script: "xtask/data/interop/rpc-client.mjs" },
    Driver { kind: "requests", script: "xtask/data/interop/requests.mjs" },
];

const MODELS: &str = "xtask/data/models.jsonl";

/// Runs a driver with the arguments after its name.
pub(super) fn run(driver: &Driver, arguments: &[&str]) -> Result<(), InteropError> {
    let (mut directory, mut binary, mut only) = (None, None, "");
    let usage = |argument: &str| {
        let kind = driver.kind;
        InteropError::Usage(format!(
            "{kind} [--dir PATH] [--binary PATH] [--only PROVIDER|FORMAT] with {argument}"
        ))
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| usage(argument));
        match *argument {
            "--dir" => directory = Some(PathBuf::from(value()?)),
            "--binary" => binary = Some(PathBuf::from(value()?)),
            "--only" => only = value()?,
            other => return Err(usage(other)),
        }
    }
    let directory = directory.or_else(super::default_directory).ok_or(InteropError::NoDirectory)?;
    let mut node = comparison::node(&directory);
    node.arg(repository::path(driver.script)).stderr(Stdio::inherit());
    node.env("PI_MODELS", repository::path(MODELS)).env("PI_ONLY", only);
    comparison::point_at_package(&directory, &mut node)?;
    if let Some(binary) = &binary {
        let found = std::path::absolute(binary).map_err(io("find the binary"))?;
        node.env("PI_BINARY", found);
    }
    let output = node.output().map_err(io("run the driver"))?;
    let mut table = Table::default();
    let name = binary
        .as_deref()
        .and_then(Path::file_name)
        .map_or("pi 1.5.0".into(), |name| name.to_string_lossy());
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        match serde_json::from_str::<Row>(line) {
            Ok(row) => table.add(&name, row),
            Err(error) => table.fail(&name, &format!("{error} in {line}")),
        }
    }
    if !output.status.success() {
        table.fail(&name, "the driver did not come to its end");
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
