//! Everything a session is made of, handed in by whoever builds one.

use std::sync::Arc;

use pi_agent::AgentTool;
use pi_protocol::{Model, Provider, StreamOptions, ThinkingLevel};
use pi_session::Session;
use pi_tools::Workspace;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{ScopedModel, SessionSettings, SettingChange};
use crate::extension::{Extensions, NoUi, Ui};
use crate::guard::Guard;
use crate::models::ModelRegistry;

/// The sections of the system prompt for these active tools.
pub type SectionsFn = Arc<dyn Fn(&[Arc<dyn AgentTool>]) -> Map<String, Value> + Send + Sync>;

/// What a text of the user stands for: `/skill:name`, a prompt template. `None` for itself.
pub type ExpandFn = Arc<dyn Fn(&str) -> Result<Option<String>, String> + Send + Sync>;

/// A slash command as the user may call it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandInfo {
    /// Its name, without the slash.
    pub name: String,
    /// What it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `extension`, `prompt` or `skill`.
    pub source: &'static str,
    /// Where it comes from.
    pub source_info: Value,
}

/// Everything a session is made of.
pub struct SessionParts {
    /// Who answers.
    pub provider: Arc<dyn Provider>,
    /// Which models there are; without a registry, the one that is given and no other.
    pub models: Option<Arc<ModelRegistry>>,
    /// Images are made to fit the model.
    pub auto_resize_images: bool,
    /// The conversation.
    pub session: Session,
    /// The model; without one, prompts fail and say so.
    pub model: Option<Arc<Model>>,
    /// How much it thinks.
    pub thinking_level: ThinkingLevel,
    /// Models to cycle through.
    pub scoped_models: Vec<ScopedModel>,
    /// Where tools work.
    pub workspace: Arc<Workspace>,
    /// All tools there are.
    pub tools: Vec<Arc<dyn AgentTool>>,
    /// The names of those that the model has.
    pub active_tools: Vec<String>,
    /// The system prompt.
    pub sections: SectionsFn,
    /// Skills and templates.
    pub expand: ExpandFn,
    /// Skills and templates as the user may call them.
    pub commands: Vec<CommandInfo>,
    /// The tools are those that the conversation says the model has, if it says so.
    pub restore_tools: bool,
    /// What of the user's settings matters here.
    pub settings: SessionSettings,
    /// Keeps changes of settings that the user makes through the session.
    pub save_setting: Option<Arc<dyn Fn(&SettingChange) + Send + Sync>>,
    /// How models are asked.
    pub options: StreamOptions,
    /// Who takes part.
    pub extensions: Extensions,
    /// The way to the user.
    pub ui: Arc<dyn Ui>,
    /// What the tools may do; those that are given here are behind it already.
    pub guard: Option<Arc<Guard>>,
}

impl SessionParts {
    /// A session with a model and nothing else.
    pub fn new(
        provider: Arc<dyn Provider>,
        model: Option<Arc<Model>>,
        session: Session,
        workspace: Arc<Workspace>,
    ) -> Self {
        Self {
            provider,
            models: None,
            auto_resize_images: true,
            session,
            model,
            thinking_level: ThinkingLevel::Off,
            scoped_models: Vec::new(),
            workspace,
            tools: Vec::new(),
            active_tools: Vec::new(),
            sections: Arc::new(|_| Map::new()),
            expand: Arc::new(|_| Ok(None)),
            commands: Vec::new(),
            restore_tools: true,
            settings: SessionSettings::default(),
            save_setting: None,
            options: StreamOptions::default(),
            extensions: Extensions::default(),
            ui: Arc::new(NoUi),
            guard: None,
        }
    }
}

impl std::fmt::Debug for SessionParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionParts").field("session", &self.session).finish_non_exhaustive()
    }
}
