//! Decisions of a program about its agent, by concern.

use std::path::PathBuf;
use std::sync::Arc;

use pi_agent::{AgentTool, Budget};
use pi_config::Project;
use pi_config::mcp::ConfiguredServer;
use pi_config::resources::ResourceFlags;
use pi_models::CredentialName;
use pi_protocol::{Model, Provider, ThinkingLevel};
use pi_tools::Executor;
use pi_tools::supervisor::Supervisor;
use secrecy::SecretString;

use super::builtins::BuiltinExtension;
use super::extensions::OpenExtension;
use super::tools::ToolSelection;
use crate::Environment;
use crate::extension::{Extension, NoUi, RunMode, Ui};
use crate::guard::{AnnounceCall, Approvals, Approver, ChangeObserver, Guard};
use crate::session_selector::SessionSelector;
use crate::tap::Tap;

/// Opens a page in the user's browser.
pub type OpenPage = Arc<dyn Fn(&str) + Send + Sync>;

/// Wraps the executor of a session.
pub type WrapExecutor = Arc<dyn Fn(Arc<dyn Executor>) -> Arc<dyn Executor> + Send + Sync>;

/// Decisions of a program about its agent. [`AgentOptions::new`] leaves everything to the user.
#[derive(Clone)]
#[non_exhaustive]
pub struct AgentOptions {
    /// The project in the working directory, with the settings that apply.
    pub project: Project,
    /// The session log.
    pub session: SessionOptions,
    /// The model and its credentials.
    pub model: ModelOptions,
    /// The tools and what executes them.
    pub tools: ToolOptions,
    /// Approvals and checkpoints.
    pub guard: GuardOptions,
    /// Skills, templates and prompts.
    pub resources: ResourceFlags,
    /// Extensions and MCP servers.
    pub extensions: ExtensionOptions,
    /// The user interface.
    pub ui: Arc<dyn Ui>,
    /// The mode in which the program runs, as extensions see it.
    pub mode: RunMode,
    /// Opens the page of a sign-in in the user's browser.
    pub open_page: Option<OpenPage>,
    /// A budget that the agent shares with others, such as the run that it works for.
    pub budget: Option<Budget>,
    /// Sees requests and tool calls, or answers them in place of models and tools.
    pub tap: Option<Arc<dyn Tap>>,
    /// Name of the agent, if the session is that of a sub-agent. Hooks learn it.
    pub subagent: Option<String>,
}

/// The session log of an agent.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SessionOptions {
    /// The session to open.
    pub selector: SessionSelector,
    /// Name of the session.
    pub name: Option<String>,
    /// Directory of session files, instead of the one in the settings.
    pub directory: Option<String>,
}

/// The model of an agent.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ModelOptions {
    /// The model as the user would write it: `provider/id`, a part of a name, with `:level`.
    pub requested: Option<String>,
    /// Provider of the model.
    pub provider: Option<String>,
    /// Key for the provider of the model; not stored.
    pub api_key: Option<SecretString>,
    /// Accounts that requests use, instead of those of the settings.
    pub accounts: Vec<CredentialName>,
    /// Thinking level of the model.
    pub thinking_level: Option<ThinkingLevel>,
    /// Models that continue a run if the model is overloaded, out of quota or down, in order.
    pub fallbacks: Vec<String>,
    /// Patterns of the models to cycle through.
    pub scope: Option<Vec<String>>,
    /// A model that is not configured anywhere.
    pub custom: Option<CustomModel>,
}

/// The tools of an agent.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct ToolOptions {
    /// Selection of tools.
    pub selection: ToolSelection,
    /// Tools of the program.
    pub custom: Vec<Arc<dyn AgentTool>>,
    /// Ownership of the processes of tools; see [`pi_tools::supervisor`].
    pub supervisor: Option<Supervisor>,
    /// Replaces the executor of tools on this machine, such as by one that reads the unsaved
    /// buffers of an editor. Not used in a sandbox, whose limits another program does not keep.
    pub wrap_executor: Option<WrapExecutor>,
}

/// What the guard of an agent depends on besides the settings.
#[derive(Clone)]
#[non_exhaustive]
pub struct GuardOptions {
    /// Approves actions instead of the user.
    pub approver: Option<Arc<dyn Approver>>,
    /// Earlier approvals; sub-agents share those of their parent.
    pub approvals: Approvals,
    /// Records tool calls before they are executed.
    pub announce_calls: Option<AnnounceCall>,
    /// Observes the paths that tool calls change.
    pub observe_changes: Option<ChangeObserver>,
    /// The guard of the agent that this one works for, which takes the checkpoints of both.
    pub parent: Option<Arc<Guard>>,
    /// Stores the state of the workspace before a run changes it.
    pub checkpoints: bool,
    /// Files that the program reads for the user, such as the definition of a task. The sandbox
    /// cannot write them.
    pub trusted_files: Vec<PathBuf>,
}

impl Default for GuardOptions {
    fn default() -> Self {
        let (approvals, checkpoints) = (Approvals::default(), true);
        Self {
            approver: None,
            approvals,
            announce_calls: None,
            observe_changes: None,
            parent: None,
            checkpoints,
            trusted_files: Vec::new(),
        }
    }
}

/// The extensions of an agent, and the MCP servers besides those of files.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct ExtensionOptions {
    /// Extensions of the program, in load order, before those of files.
    pub own: Vec<Arc<dyn Extension>>,
    /// Built-in extensions, in load order, after those of files.
    pub builtins: Vec<BuiltinExtension>,
    /// Opens the extension files of the user, the project and packages. Without it they are
    /// reported as omissions.
    pub open: Option<OpenExtension>,
    /// Values of flags of extensions, by name without dashes; `None` for a flag without a value.
    pub flags: Vec<(String, Option<String>)>,
    /// MCP servers in addition to those of files, such as those of an editor.
    pub mcp_servers: Vec<ConfiguredServer>,
}

/// A model with the provider that answers for it.
#[derive(Clone)]
pub struct CustomModel {
    /// Answers the requests.
    pub provider: Arc<dyn Provider>,
    /// Record of the model.
    pub model: Arc<Model>,
}

impl CustomModel {
    /// Combines a provider and the record of a model.
    pub fn new(provider: Arc<dyn Provider>, model: Arc<Model>) -> Self {
        Self { provider, model }
    }
}

impl AgentOptions {
    /// Opens the project in the working directory, and leaves everything to the user.
    pub fn new(environment: Environment) -> Self {
        Self::in_project(Project::open(environment))
    }

    /// Leaves everything to the user.
    pub fn in_project(project: Project) -> Self {
        Self {
            project,
            session: SessionOptions::default(),
            model: ModelOptions::default(),
            tools: ToolOptions::default(),
            guard: GuardOptions::default(),
            resources: ResourceFlags::default(),
            extensions: ExtensionOptions::default(),
            ui: Arc::new(NoUi),
            mode: RunMode::default(),
            open_page: None,
            budget: None,
            tap: None,
            subagent: None,
        }
    }

    /// Returns the directories and variables of the project.
    pub fn environment(&self) -> &Environment {
        self.project.environment()
    }
}

pi_protocol::debug_fields!(AgentOptions, session, model);

impl std::fmt::Debug for CustomModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CustomModel").field("model", &self.model.id).finish_non_exhaustive()
    }
}

pi_protocol::debug_fields!(ToolOptions, selection);

pi_protocol::debug_fields!(GuardOptions, checkpoints);

pi_protocol::debug_fields!(ExtensionOptions, flags);
