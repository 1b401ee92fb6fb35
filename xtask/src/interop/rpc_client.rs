//! `cargo xtask interop rpc-client`: tests a program with the RPC client of the TypeScript pi.
//!
//! The conversation, and a scripted model for it, are in `data/interop/rpc-client.mjs`, because
//! the client is a JavaScript class. Without `--binary` it tests its own pi, as a check of the test.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::table::{Row, Table};
use super::{InteropError, comparison};
use crate::repository;

/// The name of this task.
pub(super) const KIND: &str = "rpc-client";

const DRIVER: &str = "xtask/data/interop/rpc-client.mjs";

/// Runs the task with the arguments after its name.
pub(super) fn run(arguments: &[&str]) -> Result<(), InteropError> {
    let (mut directory, mut binary) = (None, None);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| usage(argument));
        match *argument {
            "--dir" => directory = Some(PathBuf::from(value()?)),
            "--binary" => binary = Some(PathBuf::from(value()?)),
            other => return Err(usage(other)),
        }
    }
    let directory = directory.or_else(super::default_directory).ok_or(InteropError::NoDirectory)?;
    let mut node = comparison::node(&directory);
    node.arg(repository::path(DRIVER)).stderr(Stdio::inherit());
    comparison::point_at_package(&directory, &mut node)?;
    if let Some(binary) = &binary {
        let found = std::path::absolute(binary).map_err(io("find the binary"))?;
        node.env("PI_BINARY", found);
    }
    let output = node.output().map_err(io("run the client"))?;
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
        table.fail(&name, "the client did not come to its end");
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

fn usage(argument: &str) -> InteropError {
    InteropError::Usage(format!("rpc-client [--dir PATH] [--binary PATH] with {argument}"))
}
