//! Resources of the user as a session needs them: the prompt, expansions, commands.

use std::path::Path;
use std::sync::Arc;

use pi_agent::AgentTool;
use pi_base::lock;
use pi_config::resources::{
    ResourceFlags, ResourceOptions, ResourceSettings, Resources, SourceInfo, SystemPromptOptions,
    ToolPrompt,
};
use pi_config::{Settings, SettingsScope, SettingsStore};
use serde_json::Value;

use super::builtins::BUILTIN;
use super::packages;
use super::services::Services;
use super::session_settings::stream_options;
use crate::extension::NotifyKind;
use crate::guard::Guard;
use crate::session::{
    CommandInfo, CommandSource, ExpandFn, LoadedResources, PromptFn, SaveSettingFn, SettingChange,
};
use crate::{Diagnostic, Environment};

/// Loads the resources that an agent with these settings finds.
pub fn load_resources(
    environment: &Environment,
    settings: &SettingsStore,
    flags: &ResourceFlags,
) -> Resources {
    let mut missing = Vec::new();
    let mut resources =
        Resources::load(&resource_options(environment, settings, flags, &mut missing));
    resources.diagnostics.extend(missing);
    resources
}

/// Returns the extension files that an agent with these settings finds.
pub(super) fn find_extensions(
    environment: &Environment,
    settings: &SettingsStore,
    flags: &ResourceFlags,
) -> Vec<SourceInfo> {
    Resources::find_extensions(&resource_options(environment, settings, flags, &mut Vec::new()))
}

fn resource_options(
    environment: &Environment,
    settings: &SettingsStore,
    flags: &ResourceFlags,
    missing: &mut Vec<Diagnostic>,
) -> ResourceOptions {
    let lists = |scope| {
        let settings: Settings = settings.scope(scope);
        ResourceSettings {
            extensions: settings.extensions.unwrap_or_default(),
            skills: settings.skills.unwrap_or_default(),
            prompts: settings.prompts.unwrap_or_default(),
        }
    };
    let mut flags = flags.clone();
    // Names of built-in extensions are no files.
    flags.extensions.retain(|path| !path.starts_with(BUILTIN));
    ResourceOptions {
        environment: environment.clone(),
        trusted: settings.is_trusted(),
        user: lists(SettingsScope::User),
        project: lists(SettingsScope::Project),
        packages: packages::installed(environment, settings, missing),
        flags,
    }
}

impl Services {
    /// Returns what a reload of the session replaces.
    pub(crate) fn loaded_resources(&self, cwd: &Path, guard: Option<&Guard>) -> LoadedResources {
        let settings = self.settings().settings().clone();
        LoadedResources {
            prompt: self.prompt(cwd, guard),
            expand: self.expand(),
            commands: self.commands(),
            options: stream_options(&settings, &self.options.environment),
            auto_resize_images: settings.images.auto_resize,
        }
    }

    /// Builds the prompt; `cwd` is the working directory as tools see it. Secrets in files are
    /// redacted as in tool results.
    fn prompt(&self, cwd: &Path, guard: Option<&Guard>) -> PromptFn {
        let resources = Arc::clone(&self.resources);
        let redacted = |text: &String| match guard {
            Some(guard) => guard.redact(text).into_owned(),
            None => text.clone(),
        };
        let mut context_files = resources.context_files.clone();
        for file in &mut context_files {
            file.content = redacted(&file.content);
        }
        let append = resources.append_system_prompt.iter();
        let base = SystemPromptOptions {
            custom_prompt: resources.system_prompt.as_ref().map(|text| redacted(&text.text)),
            append: append.map(|text| redacted(&text.text)).collect(),
            context_files: context_files.into(),
            skills: resources.skills.clone().into(),
            cwd: cwd.to_owned(),
            ..SystemPromptOptions::default()
        };
        Arc::new(move |active: &[Arc<dyn AgentTool>]| {
            let mut options = base.clone();
            options.tools = active.iter().map(|tool| tool_prompt(&**tool)).collect();
            options
        })
    }

    fn expand(&self) -> ExpandFn {
        let resources = Arc::clone(&self.resources);
        Arc::new(move |text| {
            let expanded = resources.expand(text).map_err(|error| error.to_string())?;
            Ok(expanded.map(|expanded| expanded.text))
        })
    }

    fn commands(&self) -> Vec<CommandInfo> {
        let mut commands = Vec::new();
        for command in self.resources.commands() {
            let source = match command.source {
                "skill" => CommandSource::Skill,
                _ => CommandSource::Prompt,
            };
            let description = Some(command.description).filter(|text| !text.is_empty());
            commands.push(CommandInfo {
                name: command.name,
                description,
                argument_hint: command.argument_hint,
                source,
                source_info: serde_json::to_value(command.source_info).unwrap_or(Value::Null),
            });
        }
        commands
    }

    /// Returns a function that stores settings in the file of the user. A file that cannot be
    /// written is reported to the user.
    pub(super) fn save_setting(&self) -> SaveSettingFn {
        let settings = Arc::clone(&self.settings);
        let ui = Arc::clone(&self.options.ui);
        Arc::new(move |change| {
            let mut settings = lock(&settings);
            let saved = settings.update(SettingsScope::User, |changes| match change {
                SettingChange::SteeringMode(mode) => {
                    changes.set(&["steeringMode"], queue_mode(*mode));
                }
                SettingChange::FollowUpMode(mode) => {
                    changes.set(&["followUpMode"], queue_mode(*mode));
                }
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
                ui.notify(format!("The setting was not saved: {error}"), NotifyKind::Warning);
            }
        })
    }
}

fn tool_prompt(tool: &dyn AgentTool) -> ToolPrompt {
    ToolPrompt {
        name: tool.declaration().name.clone(),
        snippet: tool.prompt_snippet().map(str::to_owned),
        guidelines: tool.prompt_guidelines().to_vec(),
    }
}

fn queue_mode(mode: pi_agent::QueueMode) -> &'static str {
    match mode {
        pi_agent::QueueMode::OneAtATime => "one-at-a-time",
        _ => "all",
    }
}
