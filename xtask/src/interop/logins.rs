//! `cargo xtask interop logins [--dir PATH] [--binary PATH]`: logins at oidc-provider, a certified
//! server.
//!
//! pi-web's example `logins` signs in, renews and revokes. With a build of `pi`, its commands do too.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use super::process::{Server, free_port, tail};
use super::table::{Row, Table};
use super::{InteropError, comparison};

/// The name of this task.
pub(super) const KIND: &str = "logins";

const STARTER: &str = include_str!("../../data/interop/oidc.mjs");
const SERVER: &str = "oidc/node_modules/oidc-provider/lib/index.js";
const INSTALL: &str = "npm install --prefix oidc oidc-provider";

/// Runs the task with the arguments after its name.
pub(super) fn run(arguments: &[&str]) -> Result<(), InteropError> {
    let (mut directory, mut binary) = (None, None);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let usage = || InteropError::Usage(format!("logins {argument}"));
        match *argument {
            "--dir" => directory = Some(PathBuf::from(rest.next().ok_or_else(usage)?)),
            "--binary" => binary = Some(PathBuf::from(rest.next().ok_or_else(usage)?)),
            _ => return Err(usage()),
        }
    }
    let directory = directory.or_else(super::default_directory).ok_or(InteropError::NoDirectory)?;
    let directory = std::path::absolute(directory).map_err(io("find the directory"))?;
    let mut table = Table::default();
    if !directory.join(SERVER).exists() {
        table.skip(KIND, &format!("{SERVER} is missing; to install: {INSTALL}"));
        table.print();
        return Err(InteropError::NothingRan(directory));
    }
    super::build("pi-web", KIND)?;
    let scratch = std::env::temp_dir().join(format!("pi-interop-logins-{}", std::process::id()));
    fs::create_dir_all(scratch.join("home")).map_err(io("create a directory"))?;
    let script = scratch.join("oidc.mjs");
    fs::write(&script, STARTER).map_err(io("write the starter"))?;
    let port = free_port().map_err(io("get a port"))?;
    let mut command = comparison::node(&directory);
    command.arg(&script).arg(directory.join(SERVER)).arg(port.to_string());
    let log = scratch.join("oidc.log");
    let ready = "/.well-known/openid-configuration";
    let _server = Server::start(command, &log, port, ready, Duration::from_secs(30))
        .map_err(io("start oidc-provider"))?
        .ok_or_else(|| InteropError::Silent { peer: "oidc-provider", log: tail(&log) })?;

    let mut example = super::cargo("run", "pi-web", KIND);
    example.arg("--").arg(format!("http://127.0.0.1:{port}"));
    if let Some(binary) = binary {
        let binary = std::path::absolute(binary).map_err(io("find the binary"))?;
        example.arg(binary).arg(scratch.join("home"));
    } else {
        table.skip("pi", "pass a build with --binary to test its commands");
    }
    let output = example.stderr(Stdio::inherit()).output().map_err(io("run the example"))?;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        match serde_json::from_str::<Row>(line) {
            Ok(row) => table.add(KIND, row),
            Err(error) => table.fail(KIND, &format!("{error} in {line}")),
        }
    }
    if !output.status.success() {
        table.fail(KIND, &format!("the example did not come to its end; log:\n{}", tail(&log)));
    }
    // A temporary directory that stays is harmless.
    let _ = fs::remove_dir_all(&scratch);
    table.print();
    match table.failures() {
        0 => Ok(()),
        failures => Err(InteropError::Failed(failures)),
    }
}

fn io(what: &'static str) -> impl Fn(std::io::Error) -> InteropError {
    move |source| InteropError::Io { what: what.to_owned(), source }
}
