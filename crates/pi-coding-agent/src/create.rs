//! Putting an agent together: files of the user, models, resources, tools, a conversation.
//!
//! [`create_agent_session`] is the whole; [`AgentOptions`] is what a program decides, and
//! everything it leaves open is found as the user of the command line would expect. `Services` is
//! what stays when one conversation takes the place of another.

mod checkpointing;
mod model;
mod services;
mod tools;

use std::sync::Arc;

use pi_agent::AgentTool;
use pi_protocol::{Model, Provider, ThinkingLevel};
use pi_tools::supervisor::Supervisor;
use secrecy::SecretString;

pub use tools::{ToolChoice, ToolSelection};

use crate::config::session_place;
use crate::conversation::{Conversation, ConversationError};
use crate::extension::{Extension, NoUi, Ui};
use crate::models::ChoiceError;
use crate::resources::ResourceFlags;
use crate::runtime::{AgentRuntime, Build, BuildError};
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
    /// The state of the workspace is kept before a run changes it.
    pub checkpoints: bool,
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
            checkpoints: true,
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
    Model(#[from] ChoiceError),
    /// The conversation cannot be had.
    #[error(transparent)]
    Conversation(#[from] ConversationError),
    /// The session cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
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
pub async fn create_agent_session(options: AgentOptions) -> Result<Created, CreateError> {
    let services = Services::load(&options);
    let mut diagnostics = services.diagnostics();
    let place = {
        let settings = services.settings();
        session_place(&options.environment, options.session_dir.as_deref(), &settings)
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
    let services = services.beside(&conversation, &options);
    let (session, more) = services.build(conversation, true).await?;
    diagnostics.extend(more);
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
    let runtime = AgentRuntime::new(session, build, reason).await;
    Ok(Created { runtime, diagnostics })
}
