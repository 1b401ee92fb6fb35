//! Everything that a session is made of, handed in by the code that builds one.

use std::sync::Arc;

use pi_agent::AgentTool;
use pi_config::ToolChange;
use pi_config::resources::SystemPromptOptions;
use pi_models::ModelRegistry;
use pi_protocol::{Model, Provider, StreamOptions, ThinkingLevel};
use pi_session::{Outline, Session};
use pi_tools::Workspace;
use serde::Serialize;
use serde_json::Value;

use super::{Meter, ScopedModel, SessionSettings, SettingChange, WeakAgentSession};
use crate::extension::{Extensions, Handles, NoUi, RunMode, Ui};
use crate::guard::Guard;
use crate::tap::Tap;
use crate::tool_filter::ToolFilter;

/// Returns the parts of the system prompt for these active tools.
pub type PromptFn = Arc<dyn Fn(&[Arc<dyn AgentTool>]) -> SystemPromptOptions + Send + Sync>;

/// Changes the parts of the system prompt.
pub type PromptChange = Arc<dyn Fn(&mut SystemPromptOptions) + Send + Sync>;

/// Expands a text of the user (`/skill:name`, a prompt template). `None` leaves it as it is.
pub type ExpandFn = Arc<dyn Fn(&str) -> Result<Option<String>, String> + Send + Sync>;

/// Stores a setting that was changed through the session.
pub type SaveSettingFn = Arc<dyn Fn(&SettingChange) + Send + Sync>;

/// A slash command as the user may call it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CommandInfo {
    /// Name without the slash.
    pub name: String,
    /// Description for the user, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Description of the arguments, for menus.
    #[serde(skip)]
    pub argument_hint: Option<String>,
    /// Kind of the command.
    pub source: CommandSource,
    /// File and package of the command.
    pub source_info: Value,
}

/// Kind of a slash command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // The names say it.
pub enum CommandSource {
    Extension,
    Prompt,
    Skill,
}

/// Resources of the user and settings of requests, which a reload reads anew.
#[derive(Clone)]
pub struct LoadedResources {
    /// Parts of the system prompt.
    pub prompt: PromptFn,
    /// Expansion of skills and templates.
    pub expand: ExpandFn,
    /// Skills and templates as commands.
    pub commands: Vec<CommandInfo>,
    /// Options of every request.
    pub options: StreamOptions,
    /// Images are resized to the limits of the model.
    pub auto_resize_images: bool,
}

impl Default for LoadedResources {
    fn default() -> Self {
        Self {
            prompt: Arc::new(|_| SystemPromptOptions::default()),
            expand: Arc::new(|_| Ok(None)),
            commands: Vec::new(),
            options: StreamOptions::default(),
            auto_resize_images: true,
        }
    }
}

/// Everything that a session is made of.
#[non_exhaustive]
pub struct SessionParts {
    /// Answers the requests.
    pub provider: Arc<dyn Provider>,
    /// All models; without a registry, the given model is the only one.
    pub models: Option<Arc<ModelRegistry>>,
    /// The log of the session.
    pub session: Session,
    /// The outline of the log, if it is known already.
    pub(crate) outline: Option<Outline>,
    /// The model; without one, prompts fail.
    pub model: Option<Arc<Model>>,
    /// Thinking level of the model.
    pub thinking_level: ThinkingLevel,
    /// Models to cycle through.
    pub scoped_models: Vec<ScopedModel>,
    /// Directory and executor of the tools.
    pub workspace: Arc<Workspace>,
    /// All tools that are not from extensions.
    pub tools: Vec<Arc<dyn AgentTool>>,
    /// Names of the tools that the model has.
    pub active_tools: Vec<String>,
    /// Names of tools that extensions may add.
    pub tool_filter: ToolFilter,
    /// The model gets the tools that the log says it has, if the log says so.
    pub restore_tools: bool,
    /// Changes to the tools that are restored.
    pub tool_changes: Vec<ToolChange>,
    /// Resources that a reload reads anew.
    pub resources: LoadedResources,
    /// Settings of the user that concern a session.
    pub settings: SessionSettings,
    /// Stores changes of settings that are made through the session.
    pub save_setting: Option<SaveSettingFn>,
    /// Extensions, loaded.
    pub extensions: Extensions,
    /// The user interface.
    pub ui: Arc<dyn Ui>,
    /// The mode in which the program runs.
    pub mode: RunMode,
    /// What extensions reach besides the session, such as its runtime.
    pub handles: Handles,
    /// Decides what tools may do; the given tools are behind it already.
    pub(super) guard: Option<Arc<Guard>>,
    /// The handle to the session, for parts that were made before it.
    pub(super) this: WeakAgentSession,
    /// The budget of the session.
    pub meter: Meter,
    /// Sees the requests, or answers them. The guard has its own reference.
    pub tap: Option<Arc<dyn Tap>>,
}

impl SessionParts {
    /// Creates the parts of a session with a model and nothing else.
    pub fn new(
        provider: Arc<dyn Provider>,
        model: Option<Arc<Model>>,
        session: Session,
        workspace: Arc<Workspace>,
    ) -> Self {
        Self {
            provider,
            models: None,
            session,
            outline: None,
            model,
            thinking_level: ThinkingLevel::Off,
            scoped_models: Vec::new(),
            workspace,
            tools: Vec::new(),
            active_tools: Vec::new(),
            tool_filter: ToolFilter::default(),
            restore_tools: true,
            tool_changes: Vec::new(),
            resources: LoadedResources::default(),
            settings: SessionSettings::default(),
            save_setting: None,
            extensions: Extensions::default(),
            ui: Arc::new(NoUi),
            mode: RunMode::default(),
            handles: Handles::default(),
            guard: None,
            this: WeakAgentSession::default(),
            meter: Meter::default(),
            tap: None,
        }
    }

    /// Sets the guard, with the handle to which it emits its decisions.
    pub(crate) fn set_guard(&mut self, guard: Arc<Guard>, session: WeakAgentSession) {
        (self.guard, self.this) = (Some(guard), session);
    }
}

pi_protocol::debug_fields!(SessionParts, session);

pi_protocol::debug_fields!(LoadedResources, commands);
