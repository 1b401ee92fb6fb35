//! What stays when one conversation takes the place of another: settings, models, resources.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pi_agent::AgentTool;
use pi_protocol::{Provider, RetryOptions, StreamOptions, ThinkingLevel, Timeouts};
use pi_session::Session;
use pi_tools::{BashSettings, Host, ImageSettings, Workspace, toolset};
use serde_json::Value;

use super::checkpointing::Checkpointing;
use super::model::choose_model;
use super::packages;
use super::{AgentOptions, CreateError};
use crate::config::{
    AuthStore, Settings, SettingsScope, SettingsStore, Trust, TrustQuestion, TrustStore,
    needs_trust,
};
use crate::conversation::ConversationError;
use crate::extension::{Extension, Extensions};
use crate::guard::{Guard, GuardError, Guarded};
use crate::models::{ModelRegistry, ModelsFile};
use crate::resources::system_prompt::{self, PromptInput, ToolPrompt};
use crate::resources::{ResourceFlags, ResourceOptions, ResourceSettings, Resources};
use crate::session::{
    AgentSession, CommandInfo, RetrySettings, SectionsFn, SessionParts, SessionSettings,
    SettingChange,
};
use crate::{Diagnostic, Environment};

/// Everything but the conversation.
#[derive(Clone)]
pub(super) struct Services {
    pub(super) options: Arc<AgentOptions>,
    settings: Arc<Mutex<SettingsStore>>,
    pub(super) registry: ModelRegistry,
    resources: Arc<Resources>,
    problems: Vec<Diagnostic>,
}

impl Services {
    /// Reads the files of the user and of the project.
    pub(super) fn load(options: &AgentOptions) -> Self {
        let environment = &options.environment;
        let mut problems = Vec::new();
        let settings = load_settings(options, &mut problems);
        let (file, broken) = ModelsFile::load(&environment.agent_directory.join("models.json"));
        problems.extend(broken);
        let auth = AuthStore::new(&environment.agent_directory);
        problems.extend(auth.check());
        let registry =
            ModelRegistry::new(environment.clone(), file, move |provider| auth.look_up(provider));
        let resources = load_resources(environment, &settings, &options.resources);
        problems.extend(settings.diagnostics());
        problems.extend(resources.diagnostics.iter().cloned());
        Self {
            options: Arc::new(options.clone()),
            settings: Arc::new(Mutex::new(settings)),
            registry,
            resources: Arc::new(resources),
            problems,
        }
    }

    /// The same for a conversation of another directory, if that is what it is.
    pub(super) fn beside(&self, conversation: &Session, options: &AgentOptions) -> Self {
        let cwd = conversation.cwd();
        if cwd == self.options.environment.cwd || !cwd.is_dir() {
            return self.clone();
        }
        let environment = Environment { cwd: cwd.to_owned(), ..options.environment.clone() };
        Self::load(&AgentOptions { environment, ..options.clone() })
    }

    pub(super) fn diagnostics(&self) -> Vec<Diagnostic> {
        self.problems.clone()
    }

    pub(super) fn settings(&self) -> MutexGuard<'_, SettingsStore> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Builds a session around a conversation. `first`: what flags say about model and thinking
    /// counts for a conversation that exists, too.
    pub(super) async fn build(
        &self,
        mut conversation: Session,
        first: bool,
    ) -> Result<(AgentSession, Vec<Diagnostic>), CreateError> {
        let settings = self.settings().settings().clone();
        let known = match conversation.is_empty() {
            true => None,
            false => Some(conversation.outline().map_err(ConversationError::from)?),
        };
        let known = known.filter(|outline| outline.message_count > 0);
        let mut options = (*self.options).clone();
        if !first && known.is_some() {
            (options.model, options.provider, options.thinking_level) = (None, None, None);
        }
        let chosen = choose_model(&self.registry, &options, &settings, known.as_ref()).await?;
        let provider: Arc<dyn Provider> = match &options.custom_model {
            Some((provider, _)) => Arc::clone(provider),
            None => Arc::new(self.registry.client().clone()),
        };
        let guard = self.guard(&settings, &provider, chosen.model.as_ref(), first).await?;
        let workspace = Arc::new(self.workspace(&settings, &conversation, &guard)?);
        let mut builtin = toolset::all(&workspace);
        builtin.sort_by_key(|tool| order(&tool.declaration().name));
        let behind = |tools: Vec<Arc<dyn AgentTool>>, ours| {
            let tools = tools.into_iter();
            tools.map(|tool| Guarded::wrap(tool, &guard, &workspace, ours)).collect::<Vec<_>>()
        };
        let custom = behind(options.custom_tools.clone(), false);
        let tools = options.tools.choose(behind(builtin, true), custom, &settings);
        let extensions = self.extensions(&options, &workspace, &conversation);
        let mut parts =
            SessionParts::new(provider, chosen.model.clone(), conversation, Arc::clone(&workspace));
        parts.models = options.custom_model.is_none().then(|| Arc::new(self.registry.clone()));
        parts.thinking_level = chosen.level.unwrap_or(ThinkingLevel::Off);
        parts.scoped_models = chosen.scoped;
        parts.tools = tools.tools;
        parts.active_tools = tools.active;
        parts.restore_tools = tools.restore;
        parts.sections = self.sections();
        parts.expand = self.expand(&settings);
        parts.commands = self.commands(&settings);
        parts.settings = session_settings(&settings);
        parts.save_setting = Some(self.save_setting());
        parts.options = stream_options(&settings);
        parts.auto_resize_images = settings.auto_resize_images();
        parts.extensions = Extensions::new(extensions);
        parts.ui = Arc::clone(&options.ui);
        parts.guard = Some(guard);
        let session = AgentSession::new(parts).map_err(ConversationError::from)?;
        Ok((session, chosen.diagnostics))
    }

    fn workspace(
        &self,
        settings: &Settings,
        conversation: &Session,
        guard: &Arc<Guard>,
    ) -> Result<Workspace, GuardError> {
        let options = &self.options;
        let environment = &options.environment;
        let mut variables: BTreeMap<_, _> = environment
            .variables
            .iter()
            .filter(|(name, _)| !OWN_VARIABLES.contains(&name.as_str()))
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        variables.insert("AI_AGENT".into(), "pi".into());
        variables.insert("PI_CODING_AGENT".into(), "true".into());
        variables.insert("PI_SESSION_ID".into(), conversation.id().into());
        if let Some(path) = conversation.path() {
            variables.insert("PI_SESSION_FILE".into(), path.into());
        }
        let mut bash = BashSettings::default();
        bash.shell = settings.shell_path.as_ref().map(|p| environment.expand(p, &environment.cwd));
        bash.command_prefix.clone_from(&settings.shell_command_prefix);
        bash.environment = variables;
        bash.output_directory = Some(environment.temporary());
        let plain = || Host::default().with_supervisor(options.supervisor.clone());
        let host = guard.host()?.unwrap_or_else(plain);
        let workspace =
            Workspace::new(Arc::new(host), environment.cwd.clone(), environment.home.clone());
        let workspace = workspace.with_bash(bash).with_unreadable(guard.unreadable());
        if !settings.auto_resize_images() {
            let mut images = ImageSettings::default();
            images.resize = None;
            workspace.set_image_settings(images);
        }
        Ok(workspace)
    }

    fn extensions(
        &self,
        options: &AgentOptions,
        workspace: &Arc<Workspace>,
        conversation: &Session,
    ) -> Vec<Arc<dyn Extension>> {
        let mut extensions = options.extensions.clone();
        let environment = &options.environment;
        // Nobody wants a copy of their home, and what is not kept needs no way back.
        let fit = environment.home.as_ref() != Some(&environment.cwd)
            && environment.cwd.parent().is_some()
            && conversation.path().is_some();
        if options.checkpoints && fit {
            let store =
                crate::checkpoint_directory(&environment.agent_directory, conversation.id());
            extensions.push(Arc::new(Checkpointing::new(store, Arc::clone(workspace))));
        }
        extensions
    }

    /// The system prompt for the tools that are active.
    fn sections(&self) -> SectionsFn {
        let resources = Arc::clone(&self.resources);
        let cwd = self.options.environment.cwd.clone();
        Arc::new(move |active: &[Arc<dyn AgentTool>]| {
            let tools: Vec<ToolPrompt> = active
                .iter()
                .map(|tool| ToolPrompt {
                    name: tool.declaration().name.clone(),
                    snippet: tool.prompt_snippet().map(str::to_owned),
                    guidelines: tool.prompt_guidelines().to_vec(),
                })
                .collect();
            let append: Vec<String> =
                resources.append_system_prompt.iter().map(|text| text.text.clone()).collect();
            system_prompt::build(&PromptInput {
                custom_prompt: resources.system_prompt.as_ref().map(|text| text.text.as_str()),
                tools: &tools,
                guidelines: &[],
                append: &append,
                context_files: &resources.context_files,
                skills: &resources.skills,
                cwd: &cwd,
                sections: &[],
            })
        })
    }

    fn expand(&self, settings: &Settings) -> crate::session::ExpandFn {
        let resources = Arc::clone(&self.resources);
        let skills = settings.enable_skill_commands();
        Arc::new(move |text| {
            if !skills && text.starts_with("/skill:") {
                return Ok(None);
            }
            let expanded = resources.expand(text).map_err(|error| error.to_string())?;
            Ok(expanded.map(|expanded| expanded.text))
        })
    }

    fn commands(&self, settings: &Settings) -> Vec<CommandInfo> {
        let skills = settings.enable_skill_commands();
        let commands = self.resources.commands().into_iter();
        commands
            .filter(|command| skills || command.source != "skill")
            .map(|command| CommandInfo {
                name: command.name,
                description: Some(command.description).filter(|text| !text.is_empty()),
                source: command.source,
                source_info: serde_json::to_value(command.source_info).unwrap_or(Value::Null),
            })
            .collect()
    }

    /// Keeps a setting in the user's file. A file that cannot be written is said to the user.
    fn save_setting(&self) -> Arc<dyn Fn(&SettingChange) + Send + Sync> {
        let settings = Arc::clone(&self.settings);
        let ui = Arc::clone(&self.options.ui);
        Arc::new(move |change| {
            let mut settings = settings.lock().unwrap_or_else(PoisonError::into_inner);
            let saved = settings.update(SettingsScope::User, |changes| match change {
                SettingChange::SteeringMode(mode) => changes.set(&["steeringMode"], name(*mode)),
                SettingChange::FollowUpMode(mode) => changes.set(&["followUpMode"], name(*mode)),
                SettingChange::AutoCompaction(on) => changes.set(&["compaction", "enabled"], *on),
                SettingChange::AutoRetry(on) => changes.set(&["retry", "enabled"], *on),
                SettingChange::DefaultThinkingLevel(level) => {
                    changes.set(&["defaultThinkingLevel"], level.as_str());
                }
                SettingChange::DefaultModel { provider, id } => {
                    changes.set(&["defaultProvider"], provider.as_str());
                    changes.set(&["defaultModel"], id.as_str());
                }
            });
            if let Err(error) = saved {
                ui.notify(&format!("The setting was not saved: {error}"), "warning");
            }
        })
    }
}

/// The settings of the user, and of the project if it is trusted.
pub(super) fn load_settings(
    options: &AgentOptions,
    problems: &mut Vec<Diagnostic>,
) -> SettingsStore {
    let mut settings = SettingsStore::load(&options.environment, false);
    settings.set_overrides(options.settings.clone());
    settings.set_trusted(is_trusted(options, settings.settings(), problems));
    settings
}

/// Variables that say something about a session; an agent inside of another starts without.
const OWN_VARIABLES: &[&str] =
    &["PI_SESSION_ID", "PI_SESSION_FILE", "PI_PROVIDER", "PI_MODEL", "PI_REASONING_LEVEL"];

/// The usual order of our tools, in which models are told of them.
fn order(name: &str) -> usize {
    let usual = ["read", "bash", "edit", "write", "grep", "find", "ls"];
    usual.iter().position(|other| *other == name).unwrap_or(usual.len())
}

fn name(mode: pi_agent::QueueMode) -> &'static str {
    match mode {
        pi_agent::QueueMode::All => "all",
        pi_agent::QueueMode::OneAtATime => "one-at-a-time",
    }
}

fn is_trusted(options: &AgentOptions, settings: &Settings, problems: &mut Vec<Diagnostic>) -> bool {
    let environment = &options.environment;
    let saved = TrustStore::new(&environment.agent_directory).find(&environment.cwd);
    let saved = saved.unwrap_or_else(|error| {
        problems.push(error.diagnostic());
        None
    });
    let question = TrustQuestion {
        flag: options.approve,
        needed: needs_trust(&environment.cwd, environment.home.as_deref()),
        extension: None,
        saved: saved.map(|entry| entry.trusted),
        default: settings.default_project_trust(),
    };
    // Where nobody is asked, what would have to be asked is not allowed.
    question.decide() == Trust::Trusted
}

/// What users put beside the program, as an agent with these settings finds it.
pub fn load_resources(
    environment: &Environment,
    settings: &SettingsStore,
    flags: &ResourceFlags,
) -> Resources {
    let lists = |scope| {
        let settings: Settings = settings.scope(scope);
        ResourceSettings {
            skills: settings.skills.unwrap_or_default(),
            prompts: settings.prompts.unwrap_or_default(),
        }
    };
    let mut missing = Vec::new();
    let mut resources = Resources::load(&ResourceOptions {
        environment: environment.clone(),
        trusted: settings.is_trusted(),
        user: lists(SettingsScope::User),
        project: lists(SettingsScope::Project),
        packages: packages::installed(environment, settings, &mut missing),
        flags: flags.clone(),
    });
    resources.diagnostics.extend(missing);
    resources
}

fn session_settings(settings: &Settings) -> SessionSettings {
    let retry = settings.retry();
    let overrides = settings.compaction.as_ref().and_then(|c| c.model_overrides.clone());
    SessionSettings {
        retry: RetrySettings {
            enabled: retry.enabled,
            max_retries: u32::try_from(retry.max_retries).unwrap_or(u32::MAX),
            base_delay_ms: u64::try_from(retry.base_delay.as_millis()).unwrap_or(u64::MAX),
            max_delay_ms: u64::try_from(retry.max_delay.as_millis()).unwrap_or(u64::MAX),
        },
        compaction: settings.compaction(None),
        compaction_overrides: overrides
            .unwrap_or_default()
            .into_iter()
            .map(|(model, special)| (model, special.reserve_tokens, special.keep_recent_tokens))
            .collect(),
        branch_summary: settings.branch_summary(),
        steering_mode: settings.steering_mode(),
        follow_up_mode: settings.follow_up_mode(),
        block_images: settings.block_images(),
        default_thinking_level: settings.default_thinking_level,
        model_thinking_levels: settings
            .model_thinking_levels
            .clone()
            .unwrap_or_default()
            .into_iter()
            .collect(),
    }
}

fn stream_options(settings: &Settings) -> StreamOptions {
    let provider = settings.provider_retry();
    let usual = Timeouts::default();
    StreamOptions {
        timeouts: Timeouts {
            first_byte: provider.timeout.or(usual.first_byte),
            idle: settings.http_idle_timeout(),
            ..usual
        },
        retry: RetryOptions {
            max_retries: u32::try_from(provider.max_retries).unwrap_or(u32::MAX),
            max_delay: provider.max_retry_delay.unwrap_or_default(),
        },
        thinking_budgets: settings.thinking_budgets(),
        ..StreamOptions::default()
    }
}
