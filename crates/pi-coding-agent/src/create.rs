//! Putting an agent together: files of the user, models, resources, tools, a conversation.
//!
//! [`create_agent_session`] is the whole; [`AgentOptions`] is what a program decides, and
//! everything it leaves open is found as the user of the command line would expect. `Services` is
//! what stays when one conversation takes the place of another.

mod checkpointing;
mod guarding;
mod model;
mod packages;
mod services;
mod tools;

use std::path::Path;
use std::sync::Arc;

use pi_agent::AgentTool;
use pi_protocol::{Model, Provider, ThinkingLevel};
use pi_tools::supervisor::Supervisor;
use secrecy::SecretString;
use serde_json::{Map, Value};

pub use guarding::load_guard;
pub use services::load_resources;
pub use tools::{MixedToolEntries, ToolChange, ToolChoice, ToolSelection};

use crate::config::resolve_session_directory;
use crate::conversation::{Conversation, ConversationError};
use crate::extension::{Extension, NoUi, Ui};
use crate::guard::{Approvals, Approver, GuardError};
use crate::models::SelectModelError;
use crate::resources::ResourceFlags;
use crate::runtime::{AgentRuntime, Build, BuildError};
use crate::session::AgentSession;
use crate::{Diagnostic, Environment};
use services::Services;

/// What a program decides about its agent.
#[derive(Clone)]
pub struct AgentOptions {
    /// Where it is.
    pub environment: Environment,
    /// Which conversation to have.
    pub conversation: Conversation,
    /// A name for it.
    pub name: Option<String>,
    /// Where conversations are, instead of where the settings say.
    pub session_dir: Option<String>,
    /// Which model, as the user would write it: `provider/id`, a part of a name, with `:level`.
    pub model: Option<String>,
    /// The provider of that model.
    pub provider: Option<String>,
    /// A key for that model's provider, not to be kept.
    pub api_key: Option<SecretString>,
    /// How much it thinks.
    pub thinking_level: Option<ThinkingLevel>,
    /// Patterns of the models to choose from.
    pub models: Option<Vec<String>>,
    /// Which tools it has.
    pub tools: ToolSelection,
    /// More tools.
    pub custom_tools: Vec<Arc<dyn AgentTool>>,
    /// Skills, templates, prompts.
    pub resources: ResourceFlags,
    /// Whether files of the project are trusted; `None` to go by what was decided before.
    pub approve: Option<bool>,
    /// Who takes part.
    pub extensions: Vec<Arc<dyn Extension>>,
    /// The way to the user.
    pub ui: Arc<dyn Ui>,
    /// How processes of tools are owned; see [`pi_tools::supervisor`].
    pub supervisor: Option<Supervisor>,
    /// Another model than those that can be configured.
    pub custom_model: Option<(Arc<dyn Provider>, Arc<Model>)>,
    /// Settings that count more than those of the user and the project, and are not saved.
    pub settings: Map<String, Value>,
    /// The state of the workspace is kept before a run changes it.
    pub checkpoints: bool,
    /// Who says yes to what needs it, instead of the user.
    pub approver: Option<Arc<dyn Approver>>,
    /// What was approved before; sub-agents share what their parent has.
    pub approvals: Approvals,
}

impl AgentOptions {
    /// Everything as the user has it.
    pub fn new(environment: Environment) -> Self {
        Self {
            environment,
            conversation: Conversation::default(),
            name: None,
            session_dir: None,
            model: None,
            provider: None,
            api_key: None,
            thinking_level: None,
            models: None,
            tools: ToolSelection::default(),
            custom_tools: Vec::new(),
            resources: ResourceFlags::default(),
            approve: None,
            extensions: Vec::new(),
            ui: Arc::new(NoUi),
            supervisor: None,
            custom_model: None,
            settings: Map::new(),
            checkpoints: true,
            approver: None,
            approvals: Approvals::default(),
        }
    }
}

impl std::fmt::Debug for AgentOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentOptions")
            .field("conversation", &self.conversation)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// Why there is no agent.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// The model cannot be found.
    #[error(transparent)]
    Model(#[from] SelectModelError),
    /// The conversation cannot be had.
    #[error(transparent)]
    Conversation(#[from] ConversationError),
    /// Nothing may run.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// The session cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// There is no agent.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct NotCreated {
    /// Why.
    #[source]
    pub error: CreateError,
    /// What is wrong with files of the user: often the cause.
    pub diagnostics: Vec<Diagnostic>,
}

/// An agent, and what there is to say about how it came to be.
#[derive(Debug)]
pub struct Created {
    /// The session in use, and others in its place.
    pub runtime: AgentRuntime,
    /// What is wrong with files of the user, and what was chosen instead of what was meant.
    pub diagnostics: Vec<Diagnostic>,
}

/// Puts an agent together.
pub async fn create_agent_session(options: AgentOptions) -> Result<Created, NotCreated> {
    let services = Services::load(&options);
    let mut diagnostics = services.diagnostics();
    match Box::pin(assemble(&options, services, &mut diagnostics)).await {
        Ok(runtime) => Ok(Created { runtime, diagnostics }),
        Err(error) => Err(NotCreated { error, diagnostics }),
    }
}

async fn assemble(
    options: &AgentOptions,
    services: Services,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<AgentRuntime, CreateError> {
    let place = {
        let settings = services.settings();
        resolve_session_directory(&options.environment, options.session_dir.as_deref(), &settings)
    };
    let mut conversation = options.conversation.open(&options.environment, &place)?;
    if let Conversation::WithId(id) = &options.conversation
        && conversation.is_empty()
    {
        let message = format!(
            "No project session found with id '{id}'; creating a new session with that id."
        );
        diagnostics.push(Diagnostic::warning(None, message));
    }
    let reason = if conversation.is_empty() { "startup" } else { "resume" };
    if let Some(name) = options.name.as_deref().map(str::trim).filter(|name| !name.is_empty()) {
        conversation.append_name(name).map_err(ConversationError::from)?;
    }
    let services = services.beside(&conversation, options);
    let (session, more) = services.build(conversation, true).await?;
    diagnostics.extend(more);
    diagnostics.extend(damage(&session));
    let build: Build = {
        let options = options.clone();
        Arc::new(move |conversation| {
            let services = services.beside(&conversation, &options);
            Box::pin(async move {
                let built = services.build(conversation, false).await;
                built.map(|(session, _)| session).map_err(|error| BuildError(error.to_string()))
            })
        })
    };
    Ok(AgentRuntime::new(session, build, reason).await)
}

/// Lines of the conversation that were found to be broken while it was read.
fn damage(session: &AgentSession) -> Option<Diagnostic> {
    session.with_entries(|entries| {
        let (count, first) = (entries.damaged_lines().len(), entries.damaged_lines().first()?);
        let path = entries.path().map(Path::to_owned);
        let place = path.as_deref().and_then(|path| line_at(path, first.offset));
        let place = place.map(|line| format!("line {line}: ")).unwrap_or_default();
        let rest = match count {
            1 => "it is".to_owned(),
            more => format!("this line and {} more are", more - 1),
        };
        let message = format!(
            "{place}{}; {rest} kept in the file and left out of the conversation",
            first.reason
        );
        Some(Diagnostic::warning(path, message))
    })
}

/// The number of the line that begins at a byte of a file, from 1.
fn line_at(path: &Path, offset: u64) -> Option<usize> {
    let content = std::fs::read(path).ok()?;
    let before = content.get(..usize::try_from(offset).ok()?)?;
    Some(before.iter().filter(|byte| **byte == b'\n').count() + 1)
}
