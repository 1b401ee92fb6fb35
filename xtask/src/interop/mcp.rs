//! `cargo xtask interop mcp [--dir PATH] --binary PATH [--only PARTS]`: MCP with independent peers.
//!
//! The parts:
//!
//! - `client`, `server`: the official conformance suite with the examples of pi-mcp, for the two frozen
//!   sets of requirements;
//! - `servers`: real servers, used with `pi mcp check`, `list` and `call`;
//! - `serve`: real clients, which use `pi mcp serve`;
//! - `compare`: the TypeScript pi and our program with the same servers and model answers. What the model
//!   sees must be equal, except for the differences that `xtask/data/mcp/accepted.py` lists;
//! - `commands`: the same `pi mcp` commands with both programs, which must leave the same files.
//!
//! `mcp` of the directory of peers has the npm packages and a virtual environment; see `docs/interop.md`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::InteropError;
use super::comparison;
use super::scripts::{self, Options};
use super::table::Table;
use crate::repository;

/// The name of this task.
pub(super) const KIND: &str = "mcp";

const INSTALL: &str = "npm install --prefix mcp @modelcontextprotocol/conformance@0.2.0-alpha.12 \
     @modelcontextprotocol/server-everything \
     @modelcontextprotocol/server-filesystem @modelcontextprotocol/client @modelcontextprotocol/sdk; \
     python3 -m venv mcp/venv && mcp/venv/bin/pip install mcp";
const REAL_PI: &str = "pi/node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js";
const INSTALL_PI: &str = "npm install --prefix pi quickjs-wasi@3.6.2, then unpack the archive of \
     `npm pack @earendil-works/pi-coding-agent@1.5.0` there, as docs/interop.md shows";

/// Runs the task with the arguments after its name.
pub(super) fn run(arguments: &[&str]) -> Result<(), InteropError> {
    let options = Options::parse(KIND, arguments)?;
    let node = comparison::node(&options.directory).get_program().to_owned();
    let modules = options.directory.join("mcp/node_modules");
    let python = options.directory.join("mcp/venv/bin/python");
    let suite = modules.join("@modelcontextprotocol/conformance/dist/index.js");
    let everything = modules.join("@modelcontextprotocol/server-everything");
    let mut table = Table::default();
    for (part, example) in [("client", "conformance_client"), ("server", "conformance_server")] {
        if options.wants(part) && present(part, &[&suite], INSTALL, &mut table) {
            let program = example_of_pi_mcp(example)?;
            let mut command = script("conformance.py");
            command.arg(&node).arg(&suite).arg(part).arg(program);
            scripts::run(part, &mut command, &mut table)?;
        }
    }
    if options.wants("servers") && present("servers", &[&everything, &python], INSTALL, &mut table)
    {
        let mut command = script("servers.py");
        command.arg(&options.binary).arg(&options.directory);
        scripts::run("servers", &mut command, &mut table)?;
    }
    let client = modules.join("@modelcontextprotocol/client");
    if options.wants("serve") && present("serve", &[&client, &python], INSTALL, &mut table) {
        let mut command = Command::new(&python);
        command.arg(data("clients.py")).arg(&options.binary);
        command.arg(&node).arg(&modules);
        scripts::run("serve", &mut command, &mut table)?;
    }
    let real = options.directory.join(REAL_PI);
    for (part, name) in [("compare", "compare.py"), ("commands", "commands.py")] {
        if options.wants(part)
            && present(part, &[&real, &everything, &python], INSTALL_PI, &mut table)
        {
            let mut command = script(name);
            let real = format!("{} {}", node.display(), real.display());
            command.args(["--real", &real]).arg("--ours").arg(&options.binary);
            command.arg("--peers").arg(&options.directory);
            scripts::run(part, &mut command, &mut table)?;
        }
    }
    scripts::verdict(&table, options.directory)
}

/// Returns whether all files exist; else the part is skipped.
fn present(part: &str, files: &[&Path], install: &str, table: &mut Table) -> bool {
    let Some(missing) = files.iter().find(|file| !file.exists()) else { return true };
    table.skip(part, &format!("{} is missing; to install: {install}", missing.display()));
    false
}

fn data(name: &str) -> PathBuf {
    repository::path("xtask/data/mcp").join(name)
}

fn script(name: &str) -> Command {
    let mut command = Command::new("python3");
    command.arg(data(name));
    command
}

/// Builds an example of pi-mcp and returns its program.
fn example_of_pi_mcp(example: &str) -> Result<PathBuf, InteropError> {
    let mut cargo = repository::cargo();
    cargo.args(["build", "--quiet", "--package", "pi-mcp", "--example", example]);
    let output = cargo.arg("--message-format=json").stderr(Stdio::inherit()).output();
    let built = output.ok().filter(|output| output.status.success()).ok_or(InteropError::Build)?;
    let messages = String::from_utf8_lossy(&built.stdout).into_owned();
    messages.lines().filter_map(executable).next_back().ok_or(InteropError::Build)
}

/// Returns the program that a message of cargo names.
fn executable(message: &str) -> Option<PathBuf> {
    let message: serde_json::Value = serde_json::from_str(message).ok()?;
    Some(PathBuf::from(message.get("executable")?.as_str()?))
}
