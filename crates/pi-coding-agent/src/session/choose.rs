//! Choosing: the model, how much it thinks, which tools it has.

use std::sync::Arc;

use pi_agent::AgentTool;
use pi_guard::secrets::Secrets;
use pi_protocol::{Model, ThinkingLevel};
use pi_session::SessionError;
use serde::Serialize;

use super::{AgentSession, SessionNews, SettingChange};
use crate::extension::Notice;

/// A model to cycle through, with the level it is to think at.
#[derive(Debug, Clone)]
pub struct ScopedModel {
    /// The model.
    pub model: Arc<Model>,
    /// The level, if one was named.
    pub thinking_level: Option<ThinkingLevel>,
}

/// Where cycling led to.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelCycle {
    /// The model.
    pub model: Arc<Model>,
    /// How much it thinks.
    pub thinking_level: ThinkingLevel,
    /// It was chosen among those named by the user.
    pub is_scoped: bool,
}

/// Why another model was not chosen.
#[derive(Debug, thiserror::Error)]
pub enum ChooseError {
    /// There is no key for it.
    #[error("No API key for {provider}/{id}")]
    NoKey {
        /// The provider's id.
        provider: String,
        /// The model's id.
        id: String,
    },
    /// The conversation cannot be written.
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl AgentSession {
    /// What must not leave with what is exported.
    pub fn secrets(&self) -> Secrets {
        self.0.models.as_ref().map(|models| models.secrets().clone()).unwrap_or_default()
    }

    /// The models that can be asked.
    pub fn available_models(&self) -> Vec<Arc<Model>> {
        match &self.0.models {
            Some(models) => models.available(),
            None => self.model().into_iter().collect(),
        }
    }

    /// The model with these ids, if it can be asked.
    pub fn find_model(&self, provider: &str, id: &str) -> Option<Arc<Model>> {
        match &self.0.models {
            Some(models) => models.find(provider, id).filter(|_| models.is_available(provider)),
            None => self.model().filter(|model| model.provider == provider && model.id == id),
        }
    }

    /// Models of this provider can be asked.
    pub(super) fn is_available(&self, provider: &str) -> bool {
        self.0.models.as_ref().is_none_or(|models| models.is_available(provider))
    }

    /// Tells the tools what they should know of the model, and their commands who runs them.
    pub(super) fn tell_workspace(&self) {
        let model = self.model();
        let level = self.thinking_level();
        if let Some(model) = &model {
            self.0.workspace.set_variables([
                ("PI_PROVIDER".into(), model.provider.clone().into()),
                ("PI_MODEL".into(), model.id.clone().into()),
                ("PI_REASONING_LEVEL".into(), level.as_str().into()),
            ]);
        }
        let limits = model.as_ref().and_then(|model| model.input_limits.clone());
        let mut images = pi_tools::ImageSettings::default();
        images.resize = if self.0.auto_resize_images {
            Some(limits.and_then(|limits| limits.images?.resize).unwrap_or_default())
        } else {
            None
        };
        images.supported = model.is_none_or(|model| model.accepts_images());
        self.0.workspace.set_image_settings(images);
    }

    /// The model, if one was chosen.
    pub fn model(&self) -> Option<Arc<Model>> {
        self.state().model.clone()
    }

    /// How much it thinks.
    pub fn thinking_level(&self) -> ThinkingLevel {
        self.state().thinking_level
    }

    /// Chooses a model. `persist` makes it the default.
    pub async fn set_model(&self, model: Arc<Model>, persist: bool) -> Result<(), ChooseError> {
        self.switch_model(model, None, "set").await?;
        if persist && let Some(model) = self.model() {
            let (provider, id) = (model.provider.clone(), model.id.clone());
            self.change_setting(&SettingChange::DefaultModel { provider, id });
        }
        Ok(())
    }

    async fn switch_model(
        &self,
        model: Arc<Model>,
        level: Option<ThinkingLevel>,
        source: &str,
    ) -> Result<(), ChooseError> {
        if !self.is_available(&model.provider) {
            let (provider, id) = (model.provider.clone(), model.id.clone());
            return Err(ChooseError::NoKey { provider, id });
        }
        self.entries().append_model(&model.provider, &model.id)?;
        let (previous, wanted) = {
            let mut state = self.state();
            let name = format!("{}/{}", model.provider, model.id);
            let own = state.settings.model_thinking_levels.iter().find(|(of, _)| *of == name);
            let wanted = level
                .or(own.map(|(_, level)| *level))
                .or(state.settings.default_thinking_level)
                .unwrap_or(state.thinking_level);
            (state.model.replace(Arc::clone(&model)), wanted)
        };
        self.tell_workspace();
        let notice = Notice::ModelSelect { model: &model, previous: previous.as_deref(), source };
        self.0.extensions.notice(&notice, &self.extension_context()).await;
        self.set_thinking_level(wanted, false).await?;
        Ok(())
    }

    /// Goes to the next model, or the one before; `None` if there is only one.
    pub async fn cycle_model(&self, forward: bool) -> Result<Option<ModelCycle>, ChooseError> {
        let (scoped, current) = {
            let state = self.state();
            (state.scoped_models.clone(), state.model.clone())
        };
        let is_scoped = !scoped.is_empty();
        let choices: Vec<ScopedModel> = if is_scoped {
            let usable = |one: &ScopedModel| self.is_available(&one.model.provider);
            scoped.into_iter().filter(usable).collect()
        } else {
            let all = self.available_models().into_iter();
            all.map(|model| ScopedModel { model, thinking_level: None }).collect()
        };
        if choices.len() < 2 {
            return Ok(None);
        }
        let is_current = |one: &ScopedModel| {
            current.as_ref().is_some_and(|current| {
                current.provider == one.model.provider && current.id == one.model.id
            })
        };
        let at = choices.iter().position(is_current).unwrap_or(0);
        let step = if forward { 1 } else { choices.len() - 1 };
        let next = choices[(at + step) % choices.len()].clone();
        self.switch_model(Arc::clone(&next.model), next.thinking_level, "cycle").await?;
        let thinking_level = self.thinking_level();
        Ok(Some(ModelCycle { model: next.model, thinking_level, is_scoped }))
    }

    /// The models to cycle through.
    pub fn scoped_models(&self) -> Vec<ScopedModel> {
        self.state().scoped_models.clone()
    }

    /// Sets the models to cycle through.
    pub fn set_scoped_models(&self, models: Vec<ScopedModel>) {
        self.state().scoped_models = models;
    }

    /// Sets how much the model thinks, as far as it can. `persist` makes it the default.
    pub async fn set_thinking_level(
        &self,
        level: ThinkingLevel,
        persist: bool,
    ) -> Result<(), SessionError> {
        let (previous, level_now) = {
            let mut state = self.state();
            let fitted = state.model.as_ref().map_or(level, |model| model.clamp_thinking(level));
            (std::mem::replace(&mut state.thinking_level, fitted), fitted)
        };
        if previous != level_now {
            self.tell_workspace();
            self.entries().append_thinking_level(level_now.as_str())?;
            self.news(SessionNews::ThinkingLevelChanged { level: level_now }).await;
            let notice = Notice::ThinkingLevelSelect { level: level_now, previous };
            self.0.extensions.notice(&notice, &self.extension_context()).await;
        }
        if persist {
            self.change_setting(&SettingChange::DefaultThinkingLevel(level));
        }
        Ok(())
    }

    /// Goes to the next thinking level; `None` if the model does not think.
    pub async fn cycle_thinking_level(&self) -> Result<Option<ThinkingLevel>, SessionError> {
        let levels = self.thinking_levels();
        if !self.model().is_some_and(|model| model.reasoning) {
            return Ok(None);
        }
        let at = levels.iter().position(|level| *level == self.thinking_level());
        let next = levels[at.map_or(0, |at| (at + 1) % levels.len())];
        self.set_thinking_level(next, false).await?;
        Ok(Some(next))
    }

    /// The levels that the model offers.
    pub fn thinking_levels(&self) -> Vec<ThinkingLevel> {
        self.model().map_or_else(|| ThinkingLevel::ALL.to_vec(), |model| model.thinking_levels())
    }

    /// All tools there are.
    pub fn all_tools(&self) -> &[Arc<dyn AgentTool>] {
        &self.0.tools
    }

    /// The tools that the model has.
    pub fn active_tools(&self) -> Vec<Arc<dyn AgentTool>> {
        let names = self.state().active_tools.clone();
        let find = |name: &String| {
            self.0.tools.iter().find(|tool| tool.declaration().name == *name).cloned()
        };
        names.iter().filter_map(find).collect()
    }

    /// Gives the model these tools; names that there are not are left out. Those that stay keep
    /// their order, so that the prompt stays as it is.
    pub fn set_active_tools(&self, names: &[String]) {
        let known = |name: &String| self.0.tools.iter().any(|t| t.declaration().name == *name);
        let mut state = self.state();
        let mut active: Vec<String> =
            state.active_tools.iter().filter(|name| names.contains(name)).cloned().collect();
        for name in names.iter().filter(|name| known(name)) {
            if !active.contains(name) {
                active.push(name.clone());
            }
        }
        state.active_tools = active;
    }

    /// Gives the model the tools that the conversation says it has.
    pub(super) fn restore_tools(&self) {
        let declared = self.declared();
        if declared.timestamp.is_none() || declared.tools.is_empty() {
            return;
        }
        let names: Vec<String> = declared.tools.into_iter().map(|tool| tool.name).collect();
        self.state().active_tools.clear();
        self.set_active_tools(&names);
    }
}
