//! The selection of a session: the model, its thinking level and its tools.

mod tools;

use std::sync::Arc;

use pi_guard::secrets::Secrets;
use pi_protocol::{Effects, Model, ThinkingLevel};
use pi_session::{EffectsResolver, SessionError};
use serde::Serialize;
use serde_json::{Map, Value};

use pi_models::{CredentialSource, UnusableModel, initial_model};

use super::{AgentSession, ModelSource, SessionEvent, SettingChange};

/// The model of a session, its thinking level and its tools.
#[derive(Debug)]
pub(super) struct Selection {
    pub(super) model: Option<Arc<Model>>,
    pub(super) thinking_level: ThinkingLevel,
    pub(super) scoped_models: Vec<ScopedModel>,
    /// Names of the active tools, in the order in which they are declared. A tool that is not
    /// registered, such as one of a server that is not connected, is active when it registers.
    pub(super) active_tools: Vec<String>,
    /// Names of the tools that were active when the session was built.
    pub(super) first_tools: Vec<String>,
}

/// A model to cycle through.
#[derive(Debug, Clone)]
pub struct ScopedModel {
    /// The model.
    pub model: Arc<Model>,
    /// Thinking level of the model, if one was named.
    pub thinking_level: Option<ThinkingLevel>,
}

/// Result of cycling through models.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ModelCycle {
    /// The model that is selected now.
    pub model: Arc<Model>,
    /// Thinking level of the model.
    pub thinking_level: ThinkingLevel,
    /// The model is one of those that the user named.
    pub is_scoped: bool,
}

/// Direction of cycling through models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub enum CycleDirection {
    Forward,
    Backward,
}

/// Lifetime of a selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Persistence {
    /// The selection holds for this session.
    Session,
    /// The selection becomes the default of the user.
    Default,
}

/// Reasons why a model was not selected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelSelectError {
    /// The provider of the model has no key.
    #[error("No API key for {provider}/{id}")]
    NoKey {
        /// Id of the provider.
        provider: String,
        /// Id of the model.
        id: String,
    },
    /// The model does not exist, or cannot be used.
    #[error("Model not found: {model}{}", reason.as_ref().map(|why| format!(" ({why})")).unwrap_or_default())]
    NotFound {
        /// Provider and id of the model.
        model: String,
        /// Reason why the model cannot be used.
        reason: Option<UnusableModel>,
    },
    /// The log cannot be written.
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl AgentSession {
    /// Returns the secrets to redact in exports.
    pub fn secrets(&self) -> Secrets {
        self.0.models.as_ref().map(|models| models.secrets().clone()).unwrap_or_default()
    }

    /// Returns the models whose providers have credentials.
    pub fn available_models(&self) -> Vec<Arc<Model>> {
        match &self.0.models {
            Some(models) => models.available(),
            None => self.model().into_iter().collect(),
        }
    }

    /// Probes the model servers of this machine, once. Those that respond are available then.
    pub async fn find_local_models(&self) {
        if let Some(models) = &self.0.models {
            models.find_local_servers().await;
        }
    }

    /// Returns the model with these ids, if its provider has credentials.
    pub fn find_model(&self, provider: &str, id: &str) -> Option<Arc<Model>> {
        match &self.0.models {
            Some(models) if models.is_available(provider) => models.find(provider, id),
            Some(_) => None,
            None => self.model().filter(|model| model.provider == provider && model.id == id),
        }
    }

    /// Returns the model with these ids. Probes local servers if the provider is one.
    pub async fn look_up_model(
        &self,
        provider: &str,
        id: &str,
    ) -> Result<Arc<Model>, ModelSelectError> {
        let not_found = |reason: Option<UnusableModel>| {
            let model = format!("{provider}/{id}");
            // The message for an unknown provider is that of the TypeScript pi.
            let reason = reason.filter(|why| !matches!(why, UnusableModel::UnknownProvider(_)));
            ModelSelectError::NotFound { model, reason }
        };
        let Some(models) = &self.0.models else {
            return self.find_model(provider, id).ok_or_else(|| not_found(None));
        };
        let found = models.look_up(provider, Some(id)).await.map_err(|why| not_found(Some(why)))?;
        if found.replaced { Err(not_found(None)) } else { Ok(found.model) }
    }

    /// Returns the source of the key for the model.
    pub fn credential_source(&self) -> Option<CredentialSource> {
        self.0.models.as_ref()?.credential_source(&self.model()?.provider)
    }

    /// Returns true if a provider has credentials.
    pub(super) fn is_available(&self, provider: &str) -> bool {
        self.0.models.as_ref().is_none_or(|models| models.is_available(provider))
    }

    /// Passes facts about the model to the tools and to the environment of their commands.
    pub(super) fn configure_workspace(&self) {
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
        images.resize = if self.resources().auto_resize_images {
            Some(limits.and_then(|limits| limits.images?.resize).unwrap_or_default())
        } else {
            None
        };
        images.supported = model.is_none_or(|model| model.accepts_images());
        self.0.workspace.set_image_settings(images);
    }

    /// Returns the model, if one is selected.
    pub fn model(&self) -> Option<Arc<Model>> {
        self.selection().model.clone()
    }

    /// Returns the thinking level.
    pub fn thinking_level(&self) -> ThinkingLevel {
        self.selection().thinking_level
    }

    /// Selects a model.
    pub async fn set_model(
        &self,
        model: Arc<Model>,
        persistence: Persistence,
    ) -> Result<(), ModelSelectError> {
        let change =
            SettingChange::DefaultModel { provider: model.provider.clone(), id: model.id.clone() };
        self.switch_model(model, None, ModelSource::Set).await?;
        if persistence == Persistence::Default {
            self.change_setting(&change);
        }
        Ok(())
    }

    /// Selects the default model of a provider, or any of its models, for this session. `None` if it
    /// has no model that can be used.
    pub async fn select_initial_model(
        &self,
        provider: &str,
    ) -> Result<Option<Arc<Model>>, ModelSelectError> {
        let Some(registry) = &self.0.models else { return Ok(None) };
        let found = {
            let models = registry.models();
            let mut names = registry.available_names(&models);
            names.retain(|name| name.provider == provider);
            initial_model(&names).and_then(|name| registry.find(name.provider, name.id))
        };
        if let Some(model) = &found {
            self.set_model(Arc::clone(model), Persistence::Session).await?;
        }
        Ok(found)
    }

    pub(super) async fn switch_model(
        &self,
        model: Arc<Model>,
        level: Option<ThinkingLevel>,
        source: ModelSource,
    ) -> Result<(), ModelSelectError> {
        if !self.is_available(&model.provider) {
            let (provider, id) = (model.provider.clone(), model.id.clone());
            return Err(ModelSelectError::NoKey { provider, id });
        }
        self.log().append_model(&model.provider, &model.id)?;
        let configured = self.settings().thinking_level_of(&model.provider, &model.id);
        let (previous_model, wanted) = {
            let mut selection = self.selection();
            let wanted = level.or(configured).unwrap_or(selection.thinking_level);
            (selection.model.replace(Arc::clone(&model)), wanted)
        };
        self.configure_workspace();
        // The level first, as extensions of the TypeScript pi see it.
        self.set_thinking_level(wanted, Persistence::Session).await?;
        self.emit(SessionEvent::ModelSelect { model, previous_model, source }).await;
        Ok(())
    }

    /// Selects the next model of the list; `None` if there is no other.
    pub async fn cycle_model(
        &self,
        direction: CycleDirection,
    ) -> Result<Option<ModelCycle>, ModelSelectError> {
        let (scoped, current) = {
            let selection = self.selection();
            (selection.scoped_models.clone(), selection.model.clone())
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
        let step = match direction {
            CycleDirection::Forward => 1,
            CycleDirection::Backward => choices.len() - 1,
        };
        let next = choices[(at + step) % choices.len()].clone();
        let model = Arc::clone(&next.model);
        self.switch_model(model, next.thinking_level, ModelSource::Cycle).await?;
        let thinking_level = self.thinking_level();
        Ok(Some(ModelCycle { model: next.model, thinking_level, is_scoped }))
    }

    /// Returns the models to cycle through.
    pub fn scoped_models(&self) -> Vec<ScopedModel> {
        self.selection().scoped_models.clone()
    }

    /// Sets the models to cycle through.
    pub fn set_scoped_models(&self, models: Vec<ScopedModel>) {
        self.selection().scoped_models = models;
    }

    /// Sets the thinking level, clamped to what the model offers.
    pub async fn set_thinking_level(
        &self,
        level: ThinkingLevel,
        persistence: Persistence,
    ) -> Result<(), SessionError> {
        let (previous_level, clamped) = {
            let mut selection = self.selection();
            let clamped =
                selection.model.as_ref().map_or(level, |model| model.clamp_thinking(level));
            (std::mem::replace(&mut selection.thinking_level, clamped), clamped)
        };
        if previous_level != clamped {
            self.configure_workspace();
            self.log().append_thinking_level(clamped.as_str())?;
            self.emit(SessionEvent::ThinkingLevelChanged { level: clamped, previous_level }).await;
        }
        if persistence == Persistence::Default {
            self.change_setting(&SettingChange::DefaultThinkingLevel(level));
        }
        Ok(())
    }

    /// Selects the next thinking level; `None` if the model does not think.
    pub async fn cycle_thinking_level(&self) -> Result<Option<ThinkingLevel>, SessionError> {
        let levels = self.thinking_levels();
        if !self.model().is_some_and(|model| model.reasoning) {
            return Ok(None);
        }
        let at = levels.iter().position(|level| *level == self.thinking_level());
        let next = levels[at.map_or(0, |at| (at + 1) % levels.len())];
        self.set_thinking_level(next, Persistence::Session).await?;
        Ok(Some(next))
    }

    /// Returns the thinking levels that the model offers.
    pub fn thinking_levels(&self) -> Vec<ThinkingLevel> {
        self.model().map_or_else(|| ThinkingLevel::ALL.to_vec(), |model| model.thinking_levels())
    }

    /// Declares the effects of a call of one of the session's tools, or of a recorded call.
    pub fn effects_of(&self, tool: &str, arguments: &Map<String, Value>) -> Effects {
        self.0.toolbox.effects(tool, arguments)
    }

    /// Returns the resolver of the effects of recorded calls.
    pub fn effects_resolver(&self) -> EffectsResolver {
        let this = self.downgrade();
        EffectsResolver::new(move |tool, arguments| match this.upgrade() {
            Some(session) => session.effects_of(tool, arguments),
            None => pi_tools::toolset::effects_of(tool, arguments),
        })
    }
}

/// The record that stands for a missing model; no request is made with it.
pub fn no_model() -> Model {
    let unknown = || "unknown".to_owned();
    Model {
        id: unknown(),
        name: unknown(),
        api: unknown(),
        provider: unknown(),
        ..Model::default()
    }
}
