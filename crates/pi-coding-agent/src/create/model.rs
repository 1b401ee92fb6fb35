//! The model of a new or resumed session.

use std::collections::BTreeMap;
use std::sync::Arc;

use pi_config::Settings;
use pi_models::{
    ModelOrigin, ModelRegistry, ModelRequest, ScopedName, SelectModelError, UnusableModel,
    initial_model, local, model_scope, restore_failure, thinking_level,
};
use pi_protocol::{Model, ThinkingLevel};
use pi_session::Outline;

use super::services::Services;
use super::{AgentOptions, CreateError, CustomModel};
use crate::Diagnostic;
use crate::extension::RunMode;
use crate::session::ScopedModel;

/// The model of a session, its thinking level, and the models to cycle through.
#[derive(Debug, Default)]
pub(super) struct ChosenModel {
    pub(super) model: Option<Arc<Model>>,
    pub(super) level: Option<ThinkingLevel>,
    pub(super) scoped: Vec<ScopedModel>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl Services {
    /// Checks that the settings could be read if they decide about the model. Another choice would
    /// send the prompt to a provider that the user may not want.
    pub(super) fn check_default_model(&self) -> Result<(), CreateError> {
        let named = &self.options.model;
        if named.custom.is_some() || named.requested.is_some() || named.scope.is_some() {
            return Ok(());
        }
        match self.project().store().model_error() {
            Some(problem) => Err(CreateError::UnknownDefault(problem.clone())),
            None => Ok(()),
        }
    }
}

/// Chooses the model of a session. `outline` describes the log of a resumed session.
pub(super) async fn choose_model(
    registry: &ModelRegistry,
    options: &AgentOptions,
    settings: &Settings,
    outline: Option<&Outline>,
) -> Result<ChosenModel, SelectModelError> {
    if let Some(CustomModel { model, .. }) = &options.model.custom {
        let level = level(model, options.model.thinking_level, settings, outline);
        let model = Some(Arc::clone(model));
        return Ok(ChosenModel { model, level: Some(level), ..ChosenModel::default() });
    }
    let mut chosen = requested(registry, options).await?;
    for successor in &options.model.fallbacks {
        // A misspelled name would be noticed only when it is needed.
        let request = ModelRequest { model: Some(successor), ..ModelRequest::default() };
        registry.request(&request).await?;
    }
    if chosen.model.is_none() {
        match choose(registry, options, settings, outline, &mut chosen).await {
            // The user can choose another model on the screen, or sign in there.
            Err(error) if options.mode == RunMode::Tui && options.model.scope.is_none() => {
                chosen.model = None;
                chosen.diagnostics.push(Diagnostic::error(None, error.to_string()));
            }
            result => result?,
        }
    } else if let Some(patterns) = &options.model.scope {
        add_requested_scope(registry, patterns, &mut chosen).await?;
    } else {
        let patterns = settings.enabled_models.as_deref().unwrap_or_default();
        add_scope(registry, patterns, &mut chosen);
    }
    if let (Some(model), Some(key)) = (&chosen.model, &options.model.api_key) {
        registry.set_key(&model.provider, key.clone());
    }
    if let Some(model) = &chosen.model {
        let requested = options.model.thinking_level.or(chosen.level);
        chosen.level = Some(level(model, requested, settings, outline));
    }
    Ok(chosen)
}

/// Returns the model that a new session with these options would have, and warnings about it.
pub async fn initial_session_model(
    options: &AgentOptions,
) -> Result<(Option<Arc<Model>>, Vec<Diagnostic>), SelectModelError> {
    let services = Services::load(options.clone());
    let chosen =
        choose_model(&services.registry, options, options.project.settings(), None).await?;
    Ok((chosen.model, chosen.diagnostics))
}

/// Chooses the model that the options name.
async fn requested(
    registry: &ModelRegistry,
    options: &AgentOptions,
) -> Result<ChosenModel, SelectModelError> {
    let mut chosen = ChosenModel::default();
    let model = options.model.requested.as_deref().map(|model| registry.with_account(model));
    let request = ModelRequest {
        provider: options.model.provider.as_deref(),
        model: model.as_deref(),
        level: options.model.thinking_level,
        has_key: options.model.api_key.is_some(),
    };
    let Some(found) = registry.request(&request).await? else { return Ok(chosen) };
    if let Some(key) = &options.model.api_key {
        registry.set_key(&found.model.provider, key.clone());
    }
    let usable = registry.check_usable(&found.model);
    usable.map_err(|reason| unusable(ModelOrigin::Request, &found.model, reason))?;
    chosen.model = Some(found.model);
    chosen.level = found.level;
    chosen.diagnostics.extend(found.warning.map(|text| Diagnostic::warning(None, text)));
    Ok(chosen)
}

fn unusable(origin: ModelOrigin, model: &Model, reason: UnusableModel) -> SelectModelError {
    let model = format!("{}/{}", model.provider, model.id);
    SelectModelError::Unusable { origin, model, reason }
}

/// Chooses a model for a session that was started without one: that of the session, one of the
/// patterns, the default of the settings, or the first that can be used. A model that is named and
/// cannot be used is an error: no other provider gets the request.
async fn choose(
    registry: &ModelRegistry,
    options: &AgentOptions,
    settings: &Settings,
    outline: Option<&Outline>,
    chosen: &mut ChosenModel,
) -> Result<(), SelectModelError> {
    let used = outline.and_then(|outline| {
        // A virtual model stays selected, although other models give its answers.
        let selected = outline.selected.as_ref();
        let selected = selected.filter(|one| registry.is_virtual(&one.provider, &one.model_id));
        selected.or(outline.model.as_ref())
    });
    if let Some(used) = used {
        let (provider, id) = (used.provider.as_str(), used.model_id.as_str());
        let mut found = registry.look_up(provider, Some(id)).await.map_err(|reason| {
            let (origin, model) = (ModelOrigin::Session, format!("{provider}/{id}"));
            SelectModelError::Unusable { origin, model, reason }
        })?;
        if found.replaced {
            let default = settings.default_model.as_deref();
            if settings.default_provider.as_deref() == Some(provider)
                && let Some(default) = default.and_then(|id| registry.find(provider, id))
            {
                found.model = default;
            }
            let warning = restore_failure((provider, id), &found.model);
            chosen.diagnostics.push(Diagnostic::warning(None, warning));
        }
        chosen.model = Some(found.model);
    }
    if let Some(patterns) = &options.model.scope {
        add_requested_scope(registry, patterns, chosen).await?;
    }
    let default = if chosen.model.is_none() && chosen.scoped.is_empty() {
        default_model(registry, settings, chosen).await?
    } else {
        None
    };
    if options.model.scope.is_none() {
        let patterns = settings.enabled_models.as_deref().unwrap_or_default();
        add_scope(registry, patterns, chosen);
    }
    if chosen.model.is_some() {
        return Ok(());
    }
    if chosen.scoped.is_empty() {
        chosen.model = match default {
            Some(model) => Some(model),
            None => first_usable(registry).await,
        };
        if chosen.model.is_none() {
            chosen.diagnostics.extend(unusable_providers(registry).await);
        }
        return Ok(());
    }
    // The default of the settings if it is in the scope, else the first model of the scope.
    let configured = settings.default_provider.as_deref().zip(settings.default_model.as_deref());
    let is_default = |scoped: &&ScopedModel| {
        configured == Some((scoped.model.provider.as_str(), scoped.model.id.as_str()))
    };
    let scoped = chosen.scoped.iter().find(is_default).or(chosen.scoped.first());
    let scoped = scoped.map(|scoped| (Arc::clone(&scoped.model), scoped.thinking_level));
    (chosen.model, chosen.level) =
        scoped.map_or((None, None), |(model, level)| (Some(model), level));
    Ok(())
}

/// Returns the default model of the settings, if they name one.
async fn default_model(
    registry: &ModelRegistry,
    settings: &Settings,
    chosen: &mut ChosenModel,
) -> Result<Option<Arc<Model>>, SelectModelError> {
    let named = |text: &&str| !text.is_empty();
    let provider = settings.default_provider.as_deref().filter(named);
    let id = settings.default_model.as_deref().filter(named);
    let origin = ModelOrigin::Default;
    let Some(provider) = provider else {
        let request = ModelRequest { model: id, ..ModelRequest::default() };
        let Some(found) = registry.request(&request).await? else { return Ok(None) };
        let usable = registry.check_usable(&found.model);
        usable.map_err(|reason| unusable(origin, &found.model, reason))?;
        return Ok(Some(found.model));
    };
    let found = registry.look_up(provider, id).await.map_err(|reason| {
        let model = id.map_or_else(|| provider.to_owned(), |id| format!("{provider}/{id}"));
        SelectModelError::Unusable { origin, model, reason }
    })?;
    if found.replaced {
        let (id, instead) = (id.unwrap_or_default(), &found.model.id);
        let warning = format!(
            "the default model {provider}/{id} does not exist; using {provider}/{instead} instead"
        );
        chosen.diagnostics.push(Diagnostic::warning(None, warning));
    }
    Ok(Some(found.model))
}

/// Returns the first model that can be used, for a user who has named none.
async fn first_usable(registry: &ModelRegistry) -> Option<Arc<Model>> {
    let first = || {
        let models = registry.models();
        let initial = initial_model(&registry.available_names(&models))?;
        registry.find(initial.provider, initial.id)
    };
    if let Some(model) = first() {
        return Some(model);
    }
    // The last resort: a server on this machine.
    registry.find_local_servers().await;
    first()
}

/// Returns the reasons why the providers of the user's file cannot be used.
async fn unusable_providers(registry: &ModelRegistry) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    for provider in registry.models().configured() {
        if let Err(reason) = registry.check_provider(&provider) {
            let message = format!("the provider {provider} of models.json is not used: {reason}");
            problems.push(Diagnostic::warning(None, message));
        }
    }
    problems
}

/// Adds the models that match the patterns of this run. Local servers are probed if nothing else
/// matches; without any match, there is nothing that the user would accept.
async fn add_requested_scope(
    registry: &ModelRegistry,
    patterns: &[String],
    chosen: &mut ChosenModel,
) -> Result<(), SelectModelError> {
    let problems = chosen.diagnostics.len();
    if patterns.iter().any(|pattern| local::names_local_provider(pattern)) {
        registry.find_local_servers().await;
    }
    add_scope(registry, patterns, chosen);
    if chosen.scoped.is_empty() && !patterns.is_empty() {
        registry.find_local_servers().await;
        chosen.diagnostics.truncate(problems);
        add_scope(registry, patterns, chosen);
    }
    if chosen.scoped.is_empty() && chosen.model.is_none() && !patterns.is_empty() {
        return Err(SelectModelError::NotFound(patterns.join(",")));
    }
    Ok(())
}

/// Adds the models that match the patterns.
fn add_scope(registry: &ModelRegistry, patterns: &[String], chosen: &mut ChosenModel) {
    if patterns.is_empty() {
        return;
    }
    let models = registry.models();
    let available = registry.available_names(&models);
    let scope = model_scope(patterns, &available);
    for warning in scope.warnings {
        chosen.diagnostics.push(Diagnostic::warning(None, warning.message));
    }
    for ScopedName { model, level } in scope.models {
        if let Some(model) = registry.find(model.provider, model.id) {
            chosen.scoped.push(ScopedModel { model, thinking_level: level });
        }
    }
}

fn level(
    model: &Model,
    requested: Option<ThinkingLevel>,
    settings: &Settings,
    outline: Option<&Outline>,
) -> ThinkingLevel {
    // A resumed session keeps its level; the settings are for new sessions.
    let restored = outline.and_then(|outline| outline.thinking_level.parse().ok());
    let none = BTreeMap::new();
    let by_model = settings.model_thinking_levels.as_ref().unwrap_or(&none);
    thinking_level(model, requested.or(restored), by_model, settings.default_thinking_level())
}
