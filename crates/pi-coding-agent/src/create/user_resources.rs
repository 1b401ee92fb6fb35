//! Resources of the user as a session needs them: the prompt, expansions, commands.

use std::path::Path;
use std::sync::Arc;

use pi_agent::AgentTool;
use pi_base::lock;
use pi_config::SettingsScope;
use pi_config::resources::{SystemPromptOptions, ToolPrompt};
use serde_json::Value;

use super::services::Services;
use super::session_settings::stream_options;
use crate::extension::NotifyKind;
use crate::guard::Guard;
use crate::session::{
    CommandInfo, CommandSource, ExpandFn, LoadedResources, PromptFn, SaveSettingFn, SettingChange,
};

impl Services {
    /// Returns what a reload of the session replaces.
    pub(crate) fn loaded_resources(&self, cwd: &Path, guard: Option<&Guard>) -> LoadedResources {
        let settings = self.project().settings().clone();
        LoadedResources {
            prompt: self.prompt(cwd, guard),
            expand: self.expand(),
            commands: self.commands(),
            options: stream_options(&settings, self.options.environment()),
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
        let project = Arc::clone(&self.project);
        let ui = Arc::clone(&self.options.ui);
        Arc::new(move |change| {
            let mut project = lock(&project);
            let saved = project.store_mut().update(SettingsScope::User, |changes| match change {
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
