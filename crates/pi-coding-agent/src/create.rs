//! Putting an agent together: files of the user, models, resources, tools, a session.
//!
//! [`create_agent_session`] is the whole. [`AgentOptions`] is what a program decides; everything it
//! leaves open is found as the user of the command line would expect. `Services` is what stays when
//! one session replaces another.

mod builtins;
mod checkpointing;
mod extensions;
mod guarding;
mod hooks;
mod model;
mod omissions;
mod packages;
mod runtime;
mod services;
mod session_settings;
mod tool_names;
mod tools;
mod trust;
mod user_resources;
mod user_shell;
mod workspace;

use std::path::Path;
use std::sync::{Arc, Mutex};

use pi_agent::{AgentTool, Budget};
use pi_base::lock;
use pi_config::mcp::ConfiguredServer;
use pi_config::resolve_session_directory;
use pi_config::resources::{ResourceFlags, invalid_flags};
use pi_models::{CredentialName, ModelRegistry, SelectModelError};
use pi_protocol::{Model, Provider, ThinkingLevel};
use pi_session::{Session, newer_unreadable};
use pi_tools::supervisor::Supervisor;
use pi_tools::{ConnectError, Executor, ExecutorSpec};
use secrecy::SecretString;
use serde_json::{Map, Value};

pub use builtins::{BuiltinExtension, SessionSurroundings};
pub(crate) use extensions::LoadedExtensions;
pub use extensions::OpenExtension;
pub use guarding::load_guard;
pub use model::initial_session_model;
pub use packages::{ConfiguredPackage, configured_packages, package_themes};
pub use runtime::{AgentRuntime, ReplaceError, Replaced, WeakAgentRuntime};
pub(crate) use services::Services;
pub use tool_names::UnknownToolError;
pub use tools::{MixedToolEntries, ToolChoice, ToolSelection};
pub use trust::load_settings;
use user_resources::find_extensions;
pub use user_resources::load_resources;
pub use user_shell::UserShell;

use crate::extension::{Extension, ExtensionFailure, Flag, NoUi, RunMode, Ui};
use crate::guard::{AnnounceCall, Approvals, Approver, Guard, GuardError};
use crate::session::{AgentSession, SessionEvent, StartReason};
use crate::session_selector::{SelectSessionError, SessionSelector};
use crate::tap::Tap;
use crate::{Diagnostic, Environment};
use pi_config::omissions::Omission;
use services::Built;

/// Opens a page in the user's browser.
pub type OpenPage = Arc<dyn Fn(&str) + Send + Sync>;

/// Decisions of a program about its agent. [`AgentOptions::new`] leaves everything to the user.
#[derive(Clone)]
#[non_exhaustive]
pub struct AgentOptions {
    /// Directories, variables and time zone.
    pub environment: Environment,
    /// The session to open.
    pub session: SessionSelector,
    /// Name of the session.
    pub name: Option<String>,
    /// Directory of session files, instead of the one in the settings.
    pub session_dir: Option<String>,
    /// The model as the user would write it: `provider/id`, a part of a name, with `:level`.
    pub model: Option<String>,
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
    pub models: Option<Vec<String>>,
    /// Selection of tools.
    pub tools: ToolSelection,
    /// Tools of the program.
    pub custom_tools: Vec<Arc<dyn AgentTool>>,
    /// Skills, templates and prompts.
    pub resources: ResourceFlags,
    /// Trust in the files of the project; `None` leaves it to earlier decisions and settings.
    pub approve: Option<bool>,
    /// Extensions of the program, in load order, before those of files.
    pub extensions: Vec<Arc<dyn Extension>>,
    /// Built-in extensions, in load order, after those of files.
    pub builtins: Vec<BuiltinExtension>,
    /// Opens the extension files of the user, the project and packages. Without it they are
    /// reported as omissions.
    pub open_extension: Option<OpenExtension>,
    /// Values of flags of extensions, by name without dashes; `None` for a flag without a value.
    pub flags: Vec<(String, Option<String>)>,
    /// The user interface.
    pub ui: Arc<dyn Ui>,
    /// The mode in which the program runs, as extensions see it.
    pub mode: RunMode,
    /// Ownership of the processes of tools; see [`pi_tools::supervisor`].
    pub supervisor: Option<Supervisor>,
    /// A model that is not configured anywhere.
    pub custom_model: Option<CustomModel>,
    /// Settings that override those of the user and the project, and are not stored.
    pub settings: Map<String, Value>,
    /// Stores the state of the workspace before a run changes it.
    pub checkpoints: bool,
    /// Approves actions instead of the user.
    pub approver: Option<Arc<dyn Approver>>,
    /// Earlier approvals; sub-agents share those of their parent.
    pub approvals: Approvals,
    /// Records tool calls before they are executed.
    pub announce_calls: Option<AnnounceCall>,
    /// A budget that the agent shares with others, such as the run that it works for.
    pub budget: Option<Budget>,
    /// The guard of the agent that this one works for, which takes the checkpoints of both.
    pub parent_guard: Option<Arc<Guard>>,
    /// Sees requests and tool calls, or answers them in place of models and tools.
    pub tap: Option<Arc<dyn Tap>>,
    /// Name of the agent, if the session is that of a sub-agent. Hooks learn it.
    pub subagent: Option<String>,
    /// Replaces the executor of tools on this machine, such as by one that reads the unsaved
    /// buffers of an editor. Not used in a sandbox, whose limits another program does not keep.
    pub wrap_executor: Option<WrapExecutor>,
    /// MCP servers in addition to those of files, such as those of an editor.
    pub mcp_servers: Vec<ConfiguredServer>,
    /// Opens the page of a sign-in in the user's browser.
    pub open_page: Option<OpenPage>,
}

/// Wraps the executor of a session.
pub type WrapExecutor = Arc<dyn Fn(Arc<dyn Executor>) -> Arc<dyn Executor> + Send + Sync>;

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
    /// Leaves everything to the user.
    pub fn new(environment: Environment) -> Self {
        Self {
            environment,
            session: SessionSelector::default(),
            name: None,
            session_dir: None,
            model: None,
            provider: None,
            api_key: None,
            accounts: Vec::new(),
            thinking_level: None,
            fallbacks: Vec::new(),
            models: None,
            tools: ToolSelection::default(),
            custom_tools: Vec::new(),
            resources: ResourceFlags::default(),
            approve: None,
            extensions: Vec::new(),
            builtins: Vec::new(),
            open_extension: None,
            flags: Vec::new(),
            ui: Arc::new(NoUi),
            mode: RunMode::default(),
            supervisor: None,
            custom_model: None,
            settings: Map::new(),
            checkpoints: true,
            approver: None,
            approvals: Approvals::default(),
            announce_calls: None,
            budget: None,
            parent_guard: None,
            tap: None,
            subagent: None,
            wrap_executor: None,
            mcp_servers: Vec::new(),
            open_page: None,
        }
    }
}

impl std::fmt::Debug for AgentOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentOptions")
            .field("session", &self.session)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for CustomModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CustomModel").field("model", &self.model.id).finish_non_exhaustive()
    }
}

/// Reasons why an agent cannot be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    /// The model cannot be found.
    #[error(transparent)]
    Model(#[from] SelectModelError),
    /// The session cannot be opened.
    #[error(transparent)]
    Session(#[from] SelectSessionError),
    /// The guard cannot be set up.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// The tool selection names tools that do not exist.
    #[error(transparent)]
    Tools(#[from] UnknownToolError),
    /// No extension has this flag.
    #[error("Unknown option: --{0}")]
    UnknownFlag(String),
    /// A flag of an extension has no value.
    #[error("Extension flag \"--{0}\" requires a value")]
    FlagValue(String),
    /// A skill or template of the options cannot be loaded.
    #[error("{0}")]
    Resource(Diagnostic),
    /// The executor cannot be used.
    #[error(transparent)]
    Executor(#[from] ConnectError),
    /// The profile requires a sandbox, which another machine or container cannot promise.
    #[error("the profile requires a sandbox, and commands on {0} cannot be sandboxed")]
    UnsandboxedExecutor(ExecutorSpec),
}

/// An agent could not be created.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
#[non_exhaustive]
pub struct NotCreated {
    /// The reason.
    #[source]
    pub error: CreateError,
    /// Problems in files of the user, often the cause.
    pub diagnostics: Vec<Diagnostic>,
    /// Configuration of the user that the session would not have used.
    pub omissions: Vec<Omission>,
}

/// A new agent.
#[derive(Debug)]
#[non_exhaustive]
pub struct Created {
    /// The runtime with the first session.
    pub runtime: AgentRuntime,
    /// Problems in files of the user and of extensions, and substitutions that were made.
    pub diagnostics: Vec<Diagnostic>,
    /// Configuration of the user that the session does not use.
    pub omissions: Vec<Omission>,
}

/// Creates an agent and starts its session.
pub async fn create_agent_session(options: AgentOptions) -> Result<Created, NotCreated> {
    let (loaded, asked) = LoadedExtensions::before_trust(&options).await;
    let services = Services::load(&options, asked.trusted);
    let mut diagnostics = services.diagnostics();
    let omissions = services.omissions.clone();
    diagnostics.extend(asked.problems);
    match Box::pin(assemble(&options, services, loaded, &mut diagnostics)).await {
        Ok((runtime, omissions)) => Ok(Created { runtime, diagnostics, omissions }),
        Err(error) => Err(NotCreated { error, diagnostics, omissions }),
    }
}

/// Returns what a session with these options would leave out. No session is created, and no
/// extension is asked about trust in the project.
pub fn find_omissions(options: &AgentOptions) -> Vec<Omission> {
    Services::load_omissions(options)
}

/// Returns the flags of the extensions that a session with these options loads, with the paths of
/// the extensions.
pub async fn find_flags(options: &AgentOptions) -> Vec<(Flag, String)> {
    let (loaded, _) = load_extensions(options).await;
    let flags = loaded.extensions.registry().flags();
    loaded.extensions.unload();
    flags
}

/// Adds the providers of the extensions that a session with these options loads. Returns the
/// problems of the extensions.
pub async fn add_registered_providers(
    options: &AgentOptions,
    models: &ModelRegistry,
) -> Vec<Diagnostic> {
    let (loaded, mut problems) = load_extensions(options).await;
    let registry = loaded.extensions.registry();
    models.set_registered(registry.generation(), || registry.registrations());
    loaded.extensions.unload();
    problems.extend(loaded.failures.iter().map(ExtensionFailure::diagnostic));
    problems
}

/// Loads the extensions of a session without one. Returns problems with the trust in the project,
/// too.
async fn load_extensions(options: &AgentOptions) -> (LoadedExtensions, Vec<Diagnostic>) {
    let (mut loaded, asked) = LoadedExtensions::before_trust(options).await;
    let (settings, _) = load_settings(options, asked.trusted, &mut Vec::new());
    let files = find_extensions(&options.environment, &settings, &options.resources);
    loaded.load(options, &files).await;
    (loaded, asked.problems)
}

async fn assemble(
    options: &AgentOptions,
    services: Services,
    loaded: LoadedExtensions,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<(AgentRuntime, Vec<Omission>), CreateError> {
    services.check_restrictions()?;
    let invalid = invalid_flags(&options.environment, &options.resources);
    if let Some(invalid) = invalid.into_iter().next() {
        diagnostics.retain(|diagnostic| *diagnostic != invalid);
        return Err(CreateError::Resource(invalid));
    }
    let directory = {
        let settings = services.settings();
        resolve_session_directory(&options.environment, options.session_dir.as_deref(), &settings)
    };
    let mut log = options.session.open(&options.environment, &directory)?;
    if let SessionSelector::WithId(id) = &options.session
        && log.is_empty()
    {
        let message = format!(
            "No project session found with id '{id}'; creating a new session with that id."
        );
        diagnostics.push(Diagnostic::warning(None, message));
    }
    if options.session == SessionSelector::Latest {
        diagnostics.extend(continued(&log, &directory.path));
    }
    let reason = if log.is_empty() { StartReason::Startup } else { StartReason::Resume };
    if let Some(name) = options.name.as_deref().map(str::trim)
        && !name.is_empty()
    {
        log.append_name(name).map_err(SelectSessionError::from)?;
    }
    let (services, loaded) = match services.for_directory(log.cwd()).await {
        Some(others) => {
            loaded.extensions.unload();
            others
        }
        None => (services, loaded),
    };
    let weak = WeakAgentRuntime::default();
    let Built { session, diagnostics: more, omissions, failures } =
        services.build_first(log, &weak, loaded).await?;
    diagnostics.extend(more);
    diagnostics.extend(failures.iter().map(ExtensionFailure::diagnostic));
    diagnostics.extend(damage(&session));
    let runtime = AgentRuntime::new(session.clone(), services, &weak);
    diagnostics.extend(start(&runtime, &session, reason).await);
    Ok((runtime, omissions))
}

/// Reports what the latest session could not be, for a user who wants to continue it.
fn continued(log: &Session, directory: &Path) -> Vec<Diagnostic> {
    let opened = log.path().filter(|_| !log.is_empty());
    let skipped = newer_unreadable(directory, opened).into_iter().map(|path| {
        Diagnostic::warning(path, "not a readable session, so an earlier one is continued")
    });
    let none = log.is_empty().then(|| {
        Diagnostic::warning(None, "no session to continue in this directory; starting a new one")
    });
    if none.is_some() { none.into_iter().collect() } else { skipped.collect() }
}

/// Starts the first session. No one else can subscribe yet, so failures become diagnostics.
async fn start(
    runtime: &AgentRuntime,
    session: &AgentSession,
    reason: StartReason,
) -> Vec<Diagnostic> {
    let failures: Arc<Mutex<Vec<Diagnostic>>> = Arc::default();
    let collected = Arc::clone(&failures);
    let subscription = runtime.subscribe(move |event| {
        if let SessionEvent::ExtensionError { extension_path, event, error } = event {
            let failure = ExtensionFailure::from_parts(extension_path, event, error);
            let mut collected = lock(&collected);
            collected.push(failure.diagnostic());
        }
    });
    runtime.start(session, reason, None).await;
    drop(subscription);
    std::mem::take(&mut lock(&failures))
}

/// Reports damaged lines of the log.
fn damage(session: &AgentSession) -> Option<Diagnostic> {
    session.with_log(|log| {
        let (count, first) = (log.damaged_lines().len(), log.damaged_lines().first()?);
        let path = log.path().map(Path::to_owned);
        let place = path.as_deref().and_then(|path| line_at(path, first.offset));
        let place = place.map(|line| format!("line {line}: ")).unwrap_or_default();
        let rest = match count {
            1 => "it is".to_owned(),
            more => format!("this line and {} more are", more - 1),
        };
        let message =
            format!("{place}{}; {rest} kept in the file and left out of the session", first.reason);
        Some(Diagnostic::warning(path, message))
    })
}

/// Returns the number of the line that begins at a byte of a file, counted from 1.
fn line_at(path: &Path, offset: u64) -> Option<usize> {
    let content = std::fs::read(path).ok()?;
    let before = content.get(..usize::try_from(offset).ok()?)?;
    Some(before.iter().filter(|byte| **byte == b'\n').count() + 1)
}
