//! Opening a session: what a client asks for, and what the program makes of it.

use std::path::PathBuf;
use std::sync::Arc;

use pi_agent::BoxFuture;
use pi_coding_agent::extension::{RunMode, Ui};
use pi_coding_agent::guard::Approvals;
use pi_coding_agent::{AgentOptions, AgentRuntime, SessionSelector, WrapExecutor};
use pi_config::mcp::ConfiguredServer;
use pi_protocol::Outcome;
use serde_json::{Value, json};

/// Opens sessions with the options of the program.
pub type Opener =
    Arc<dyn Fn(OpenRequest) -> BoxFuture<'static, Result<Opened, OpenError>> + Send + Sync>;

/// The properties of a session that stay the same when it is opened anew, unless a client asks for
/// others.
#[derive(Clone)]
#[non_exhaustive]
pub struct OpenPlan {
    /// Working directory.
    pub cwd: PathBuf,
    /// Profile that the client has chosen.
    pub profile: Option<String>,
    /// Directories that sandboxed commands can write besides the working directory.
    pub additional_directories: Vec<PathBuf>,
    /// MCP servers that the client brings.
    pub mcp_servers: Vec<ConfiguredServer>,
    /// Files and terminals of the client.
    pub wrap_executor: Option<WrapExecutor>,
    /// Options for this session, instead of those that the program has for all.
    pub options: Option<Arc<AgentOptions>>,
}

impl OpenPlan {
    /// Creates a plan for a session in a directory.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        Self {
            cwd: cwd.into(),
            profile: None,
            additional_directories: Vec::new(),
            mcp_servers: Vec::new(),
            wrap_executor: None,
            options: None,
        }
    }

    /// Returns true if both ask for the same directories and servers.
    pub fn asks_for_the_same_as(&self, other: &Self) -> bool {
        self.cwd == other.cwd
            && self.additional_directories == other.additional_directories
            && self.mcp_servers == other.mcp_servers
    }
}

impl std::fmt::Debug for OpenPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenPlan")
            .field("cwd", &self.cwd)
            .field("profile", &self.profile)
            .finish_non_exhaustive()
    }
}

/// A session to open.
#[non_exhaustive]
pub struct OpenRequest {
    /// The session.
    pub session: SessionSelector,
    /// Properties of the session.
    pub plan: OpenPlan,
    /// The users.
    pub ui: Arc<dyn Ui>,
    /// Earlier approvals of the session.
    pub approvals: Approvals,
}

impl std::fmt::Debug for OpenRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenRequest")
            .field("session", &self.session)
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

impl OpenRequest {
    /// Writes the request into options. What they say about directories that sandboxed commands
    /// can write stays.
    pub fn apply(self, options: &mut AgentOptions) {
        let OpenPlan { cwd, profile, additional_directories, mcp_servers, wrap_executor, .. } =
            self.plan;
        options.project = options.project.in_directory(&cwd);
        options.session.selector = self.session;
        options.mode = RunMode::Rpc;
        options.ui = self.ui;
        options.guard.approvals = self.approvals;
        options.tools.wrap_executor = wrap_executor;
        options.extensions.mcp_servers = mcp_servers;
        options.project.change_overrides(|settings| {
            let guard = settings.entry("guard").or_insert_with(|| json!({}));
            let Value::Object(guard) = guard else { return };
            if let Some(profile) = profile {
                guard.insert("profile".to_owned(), profile.into());
            }
            let roots = additional_directories.iter();
            let roots = roots.map(|root| Value::from(root.to_string_lossy()));
            if roots.len() > 0
                && let Value::Array(known) =
                    guard.entry("writableRoots").or_insert_with(|| json!([]))
            {
                known.extend(roots);
            }
        });
    }
}

/// A session that is open.
#[derive(Debug)]
pub struct Opened {
    /// The runtime with the session.
    pub runtime: AgentRuntime,
    /// What the user should know.
    pub notices: Vec<String>,
}

/// Reasons why a session is not opened.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The session does not exist.
    #[error("{0}")]
    NotFound(String),
    /// The model has no usable credentials; the text names them.
    #[error("{0}")]
    Credentials(String),
    /// The limit of open sessions is reached.
    #[error("{0} sessions are open")]
    TooMany(usize),
    /// The session is being opened anew.
    #[error("the session is being opened anew; repeat the request later")]
    Reopening,
    /// The program refuses to open it.
    #[error("{problem}")]
    Refused {
        /// Description of the problem.
        problem: String,
        /// The outcome that a run of the session would have had.
        outcome: Outcome,
    },
    /// Another problem; the text describes it.
    #[error("{0}")]
    Failed(String),
}

impl OpenError {
    /// Returns the outcome of a run whose session is not opened.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Credentials(_) => Outcome::NoModel,
            Self::Refused { outcome, .. } => *outcome,
            _ => Outcome::Failed,
        }
    }
}
