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
mod options;
mod room;
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

use pi_base::lock;
use pi_config::resolve_session_directory;
use pi_config::resources::{Resources, invalid_flags};
use pi_models::{ModelRegistry, SelectModelError};
use pi_session::{Session, newer_unreadable};
use pi_tools::{ConnectError, ExecutorSpec};

pub use builtins::{BuiltinExtension, SessionSurroundings};
pub(crate) use extensions::LoadedExtensions;
pub use extensions::OpenExtension;
pub use guarding::load_guard;
pub use model::initial_session_model;
pub use options::{
    AgentOptions, CustomModel, ExtensionOptions, GuardOptions, ModelOptions, OpenPage,
    SessionOptions, ToolOptions, WrapExecutor,
};
pub use room::{Room, RoomKind};
pub use runtime::{AgentRuntime, ReplaceError, Replaced, WeakAgentRuntime};
pub(crate) use services::Services;
pub use tool_names::UnknownToolError;
pub use tools::{MixedToolEntries, ToolChoice, ToolSelection};
pub use user_shell::UserShell;

use crate::Diagnostic;
use crate::extension::{ExtensionFailure, Flag};
use crate::guard::GuardError;
use crate::session::{AgentSession, SessionEvent, StartReason};
use crate::session_selector::{SelectSessionError, SessionSelector};
use pi_config::omissions::Omission;
use services::Built;

/// Reasons why an agent cannot be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    /// The model cannot be found.
    #[error(transparent)]
    Model(#[from] SelectModelError),
    /// The settings cannot be read, so the default model is unknown, and none is named.
    #[error("the default model is unknown: {0}")]
    UnknownDefault(Diagnostic),
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

/// Creates an agent and starts its session. The settings are those with which the project was
/// opened.
pub async fn create_agent_session(mut options: AgentOptions) -> Result<Created, NotCreated> {
    let (loaded, asked) = LoadedExtensions::before_trust(&mut options).await;
    let services = Services::load(options);
    let mut diagnostics = services.diagnostics();
    let omissions = services.omissions.clone();
    diagnostics.extend(asked);
    match Box::pin(assemble(services, loaded, &mut diagnostics)).await {
        Ok((runtime, omissions)) => Ok(Created { runtime, diagnostics, omissions }),
        Err(error) => Err(NotCreated { error, diagnostics, omissions }),
    }
}

/// Returns what a session with these options would leave out. No session is created, and no
/// extension is asked about trust in the project.
pub fn find_omissions(options: &AgentOptions) -> Vec<Omission> {
    omissions::find(options, &Resources::of(&options.project, &options.resources))
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
    let mut options = options.clone();
    let (mut loaded, problems) = LoadedExtensions::before_trust(&mut options).await;
    let files = Resources::extensions_of(&options.project, &options.resources);
    loaded.load(&options, &files).await;
    (loaded, problems)
}

async fn assemble(
    services: Services,
    loaded: LoadedExtensions,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<(AgentRuntime, Vec<Omission>), CreateError> {
    services.check_restrictions()?;
    services.check_default_model()?;
    let options = Arc::clone(&services.options);
    let environment = options.environment();
    let invalid = invalid_flags(environment, &options.resources);
    if let Some(invalid) = invalid.into_iter().next() {
        diagnostics.retain(|diagnostic| *diagnostic != invalid);
        return Err(CreateError::Resource(invalid));
    }
    let settings = options.project.store();
    let directory =
        resolve_session_directory(environment, options.session.directory.as_deref(), settings);
    let mut log = options.session.selector.open(environment, &directory)?;
    if let SessionSelector::WithId(id) = &options.session.selector
        && log.is_empty()
    {
        let message = format!(
            "No project session found with id '{id}'; creating a new session with that id."
        );
        diagnostics.push(Diagnostic::warning(None, message));
    }
    if options.session.selector == SessionSelector::Latest {
        diagnostics.extend(continued(&log, &directory.path));
    }
    let reason = if log.is_empty() { StartReason::Startup } else { StartReason::Resume };
    if let Some(name) = options.session.name.as_deref().map(str::trim)
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
