//! Decisions of a program about the agents that it serves.

use std::path::PathBuf;
use std::sync::Arc;

use pi_agent::BoxFuture;
use pi_coding_agent::extension::{RunMode, Ui};
use pi_coding_agent::guard::Approvals;
use pi_coding_agent::{AgentOptions, AgentRuntime, Environment, SessionSelector, WrapExecutor};
use pi_config::mcp::ConfiguredServer;
use serde_json::{Value, json};

/// Opens sessions. The error is a sentence for the user.
pub type OpenSession =
    Arc<dyn Fn(OpenRequest) -> BoxFuture<'static, Result<Opened, OpenError>> + Send + Sync>;

/// Does something about the credentials of the user. The error is a sentence for the user.
pub type CredentialAction = Arc<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// Removes the file of a session and what belongs to it. The error is a sentence for the user.
pub type DeleteSession =
    Arc<dyn Fn(PathBuf) -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// Decisions of a program.
#[derive(Clone)]
pub struct Options {
    /// Version of the program.
    pub version: String,
    /// Directories and variables. The working directory of a session is that of the client.
    pub environment: Environment,
    /// Directory for all sessions, if the user has set one.
    pub session_directory: Option<PathBuf>,
    /// Profile that clients cannot go below.
    pub least_profile: Option<String>,
    /// Files are read and written through clients that offer it.
    pub client_files: bool,
    /// Commands run in terminals of clients that offer it.
    pub client_terminal: bool,
    /// Arguments, after those of this program, with which it signs in on a terminal.
    pub sign_in_arguments: Vec<String>,
    /// Opens sessions.
    pub open: OpenSession,
    /// Removes a session.
    pub delete: DeleteSession,
    /// Checks that there are credentials.
    pub authenticate: CredentialAction,
    /// Removes the stored credentials.
    pub log_out: CredentialAction,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("version", &self.version).finish_non_exhaustive()
    }
}

/// A session that a client asks for.
#[non_exhaustive]
pub struct OpenRequest {
    /// Working directory.
    pub cwd: PathBuf,
    /// The session.
    pub session: SessionSelector,
    /// Profile that the client has chosen.
    pub profile: Option<String>,
    /// Directories that sandboxed commands can write besides the working directory.
    pub additional_directories: Vec<PathBuf>,
    /// Servers that the client brings.
    pub mcp_servers: Vec<ConfiguredServer>,
    /// The user.
    pub ui: Arc<dyn Ui>,
    /// Earlier approvals of the session.
    pub approvals: Approvals,
    /// Files and terminals of the client.
    pub wrap_executor: Option<WrapExecutor>,
}

impl std::fmt::Debug for OpenRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenRequest")
            .field("cwd", &self.cwd)
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

impl OpenRequest {
    /// Writes the request into options. What they say about directories that sandboxed commands
    /// can write stays.
    pub fn apply(self, options: &mut AgentOptions) {
        options.environment.cwd = self.cwd;
        options.session = self.session;
        options.mode = RunMode::Rpc;
        options.ui = self.ui;
        options.approvals = self.approvals;
        options.wrap_executor = self.wrap_executor;
        options.mcp_servers = self.mcp_servers;
        let guard = options.settings.entry("guard").or_insert_with(|| json!({}));
        if let Value::Object(guard) = guard {
            if let Some(profile) = self.profile {
                guard.insert("profile".to_owned(), profile.into());
            }
            let roots = self.additional_directories.iter();
            let roots = roots.map(|root| Value::from(root.to_string_lossy()));
            if roots.len() > 0
                && let Value::Array(known) =
                    guard.entry("writableRoots").or_insert_with(|| json!([]))
            {
                known.extend(roots);
            }
        }
    }
}

/// A session that is open.
#[derive(Debug)]
pub struct Opened {
    /// The runtime with the session.
    pub runtime: AgentRuntime,
    /// Messages that the user should read.
    pub notices: Vec<String>,
}

/// Reasons why a session is not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The session does not exist.
    #[error("{0}")]
    NotFound(String),
    /// The model has no usable credentials; the text says which.
    #[error("{0}")]
    Credentials(String),
    /// Something else is wrong; the text says what.
    #[error("{0}")]
    Failed(String),
}
