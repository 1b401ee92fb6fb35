//! `cargo xtask interop cloud [--dir PATH]`: credentials from moto, checked by moto and google-auth.
//!
//! pi-web's example `cloud` obtains the credentials.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::InteropError;
use super::process::{Server, free_port, tail};
use super::table::{Row, Table};

/// The name of this task.
pub(super) const KIND: &str = "cloud";

const JUDGE: &str = include_str!("../../data/interop/cloud_judge.py");
const MOTO: &str = "v-moto/bin/moto_server";
const INSTALL_MOTO: &str = "python3 -m venv v-moto && v-moto/bin/pip install 'moto[server]'";
const PYTHON: &str = "v-boto/bin/python";
const INSTALL_PYTHON: &str =
    "python3 -m venv v-boto && v-boto/bin/pip install boto3 google-auth cryptography requests";

/// The actions before moto checks signatures: those of the judge and the web identity.
const UNCHECKED: &str = "7";

/// Runs the task with the arguments after its name.
pub(super) fn run(arguments: &[&str]) -> Result<(), InteropError> {
    let directory = match arguments {
        [] => super::default_directory().ok_or(InteropError::NoDirectory)?,
        ["--dir", path] => PathBuf::from(path),
        other => return Err(InteropError::Usage(other.join(" "))),
    };
    let directory = std::path::absolute(directory).map_err(io("find the directory"))?;
    let mut table = Table::default();
    for (program, install) in [(MOTO, INSTALL_MOTO), (PYTHON, INSTALL_PYTHON)] {
        if !directory.join(program).exists() {
            table.skip(KIND, &format!("{program} is missing; to install: {install}"));
            table.print();
            return Err(InteropError::NothingRan(directory));
        }
    }
    super::build("pi-web", KIND)?;
    let scratch = std::env::temp_dir().join(format!("pi-interop-cloud-{}", std::process::id()));
    let home = scratch.join("home");
    fs::create_dir_all(&home).map_err(io("create a directory"))?;
    let start = |name: &'static str, mut command: Command, port: u16, ready: &str| {
        let log = scratch.join(format!("{name}.log"));
        // The credentials of the user must not play a part.
        command.current_dir(&scratch).env("HOME", &home);
        Server::start(command, &log, port, ready, Duration::from_secs(60))
            .map_err(io("start a server"))?
            .ok_or_else(|| InteropError::Silent { peer: name, log: tail(&log) })
    };
    let (moto_port, judge_port) = (port()?, port()?);
    let moto_url = format!("http://127.0.0.1:{moto_port}");
    let mut moto = Command::new(directory.join(MOTO));
    moto.args(["-H", "127.0.0.1", "-p", &moto_port.to_string()]);
    moto.env("INITIAL_NO_AUTH_ACTION_COUNT", UNCHECKED);
    let _moto = start("moto", moto, moto_port, "/moto-api/")?;
    let script = scratch.join("judge.py");
    fs::write(&script, JUDGE).map_err(io("write the judge"))?;
    let mut judge = Command::new(directory.join(PYTHON));
    judge.arg(&script).args([&judge_port.to_string(), &moto_url]);
    let _judge = start("judge", judge, judge_port, "/")?;

    let mut example = super::cargo("run", "pi-web", KIND);
    example.args(["--", &moto_url, &format!("http://127.0.0.1:{judge_port}/")]).arg(&home);
    let output = example.stderr(Stdio::inherit()).output().map_err(io("run the example"))?;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        match serde_json::from_str::<Row>(line) {
            Ok(row) => table.add(KIND, row),
            Err(error) => table.fail(KIND, &format!("{error} in {line}")),
        }
    }
    if !output.status.success() {
        table.fail(KIND, "the example did not come to its end");
    }
    // A temporary directory that stays is harmless.
    let _ = fs::remove_dir_all(&scratch);
    table.print();
    match table.failures() {
        0 => Ok(()),
        failures => Err(InteropError::Failed(failures)),
    }
}

fn port() -> Result<u16, InteropError> {
    free_port().map_err(io("get a port"))
}

fn io(what: &'static str) -> impl Fn(std::io::Error) -> InteropError {
    move |source| InteropError::Io { what: what.to_owned(), source }
}
