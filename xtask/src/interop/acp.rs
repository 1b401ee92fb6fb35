//! `cargo xtask interop acp [--dir PATH] --binary PATH`: independent clients drive `pi acp`.
//!
//! The official SDKs for Python and for JavaScript (ACP 1 and the draft of 2), acpx, and the third-party
//! adapter pi-acp, which speaks RPC to our program. `acp` of the directory of peers has the npm packages
//! and a virtual environment; see `docs/interop.md`. A scripted model answers.

use std::process::Command;

use super::InteropError;
use super::comparison;
use super::scripts::{self, Options};
use super::table::Table;
use crate::repository;

/// The name of this task.
pub(super) const KIND: &str = "acp";

const INSTALL_NPM: &str = "npm install --prefix acp acpx pi-acp @agentclientprotocol/sdk";
const INSTALL_PYTHON: &str =
    "python3 -m venv acp/venv && acp/venv/bin/pip install agent-client-protocol";

/// Runs the task with the arguments after its name.
pub(super) fn run(arguments: &[&str]) -> Result<(), InteropError> {
    let options = Options::parse(KIND, arguments)?;
    let peers = options.directory.join("acp");
    let scripts_directory = repository::path("xtask/data/acp");
    let mut table = Table::default();

    let python = peers.join("venv/bin/python");
    if options.wants("python") && python.exists() {
        let mut command = Command::new(&python);
        command.arg(scripts_directory.join("python_client.py")).arg(&options.binary);
        let mcp = options.directory.join("mcp/venv/bin/python");
        if mcp.exists() {
            command.arg(mcp).arg(repository::path("xtask/data/mcp/server.py"));
        }
        scripts::run("python", &mut command, &mut table)?;
    } else if options.wants("python") {
        table.skip(
            "python",
            &format!("{} is missing; to install: {INSTALL_PYTHON}", python.display()),
        );
    }

    let modules = peers.join("node_modules");
    if options.wants("npm") && modules.join("acpx").exists() {
        let node = comparison::node(&options.directory).get_program().to_owned();
        let mut command = Command::new("python3");
        command.arg(scripts_directory.join("npm_clients.py"));
        command.arg(&options.binary).arg(node).arg(&modules);
        scripts::run("npm", &mut command, &mut table)?;
    } else if options.wants("npm") {
        table.skip("npm", &format!("{} is missing; to install: {INSTALL_NPM}", modules.display()));
    }
    scripts::verdict(&table, options.directory)
}
