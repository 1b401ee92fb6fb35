//! The model of a new or resumed session.

use std::collections::BTreeMap;
use std::sync::Arc;

use pi_protocol::{Model, ThinkingLevel};
use pi_session::Outline;

use super::{AgentOptions, CustomModel};
use crate::Diagnostic;
use crate::config::Settings;
use crate::models::{
    ModelName, ModelPreferences, ModelRegistry, ModelRequest, ScopedName, SelectModelError,
    initial_model, local, model_scope, restore_failure, select_model, thinking_level,
};
use crate::session::ScopedModel;

/// The model of a session, its thinking level, and the models to cycle through.
#[derive(Debug, Default)]
pub(super) struct ChosenModel {
    pub(super) model: Option<Arc<Model>>,
    pub(super) level: Option<ThinkingLevel>,
    pub(super) scoped: Vec<ScopedModel>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// Chooses the model of a session. `outline` describes the log of a resumed session.
pub(super) async fn choose_model(
    registry: &ModelRegistry,
    options: &AgentOptions,
    settings: &Settings,
    outline: Option<&Outline>,
) -> Result<ChosenModel, SelectModelError> {
    if let Some(CustomModel { model, .. }) = &options.custom_model {
        let level = level(model, options.thinking_level, settings, outline);
        let model = Some(Arc::clone(model));
        return Ok(ChosenModel { model, level: Some(level), ..ChosenModel::default() });
    }
    let mut named =
        options.provider.iter().chain(&options.model).chain(options.models.iter().flatten());
    if named.any(|text| local::names_local_provider(text)) {
        registry.find_local_servers().await;
    }
    let mut chosen = requested(registry, options)?;
    let patterns = options.models.clone().or_else(|| settings.enabled_models.clone());
    add_scope(registry, &patterns.unwrap_or_default(), &mut chosen);
    if chosen.model.is_none() {
        choose_default(registry, settings, outline, &mut chosen);
    }
    if chosen.model.is_none() {
        // The last resort: a server on this machine.
        registry.find_local_servers().await;
        choose_default(registry, settings, outline, &mut chosen);
    }
    if let (Some(model), Some(key)) = (&chosen.model, &options.api_key) {
        registry.set_key(&model.provider, key.clone());
    }
    if let Some(model) = &chosen.model {
        let requested = options.thinking_level.or(chosen.level);
        chosen.level = Some(level(model, requested, settings, outline));
    }
    Ok(chosen)
}

/// Chooses the model that the options name.
fn requested(
    registry: &ModelRegistry,
    options: &AgentOptions,
) -> Result<ChosenModel, SelectModelError> {
    let mut chosen = ChosenModel::default();
    if options.model.is_none() {
        return Ok(chosen);
    }
    let request = ModelRequest {
        provider: options.provider.as_deref(),
        model: options.model.as_deref(),
        level: options.thinking_level,
        has_key: options.api_key.is_some(),
    };
    let models = registry.models();
    let names = models.names();
    let selected = select_model(&request, &names, &|provider| registry.is_available(provider))?;
    if let Some(selected) = selected {
        let record = selected.model.record(|provider, id| models.find(provider, id));
        chosen.model = record.map(Arc::new);
        chosen.level = selected.level;
        let warning = selected.warning.map(|warning| Diagnostic::warning(None, warning));
        chosen.diagnostics.extend(warning);
    }
    Ok(chosen)
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

/// Chooses a model for a session that was started without one.
fn choose_default(
    registry: &ModelRegistry,
    settings: &Settings,
    outline: Option<&Outline>,
    chosen: &mut ChosenModel,
) {
    let used = outline.and_then(|outline| outline.model.as_ref());
    let used = used.map(|model| (model.provider.as_str(), model.model_id.as_str()));
    // The model of a resumed session is found without reading the names of all others.
    if let Some((provider, id)) = used
        && registry.is_available(provider)
        && let Some(model) = registry.find(provider, id)
    {
        chosen.model = Some(model);
        return;
    }
    let scoped_models = chosen.scoped.clone();
    let scoped: Vec<ScopedName<'_>> = scoped_models.iter().map(scoped_name).collect();
    let models = registry.models();
    // A model of the scope is chosen without the names of all others.
    let available = if used.is_none() && !scoped.is_empty() {
        Vec::new()
    } else {
        registry.available_names(&models)
    };
    let preferences = ModelPreferences {
        scoped: &scoped,
        session: used,
        default: settings.default_provider.as_deref().zip(settings.default_model.as_deref()),
    };
    let initial = initial_model(&preferences, &available);
    let name = initial.map(|initial| (initial.model.provider, initial.model.id));
    if let Some(used) = used {
        chosen.diagnostics.push(Diagnostic::warning(None, restore_failure(used, name)));
    }
    chosen.level = initial.and_then(|initial| initial.level);
    chosen.model = name.and_then(|(provider, id)| registry.find(provider, id));
}

fn scoped_name(scoped: &ScopedModel) -> ScopedName<'_> {
    let Model { provider, id, name, .. } = &*scoped.model;
    ScopedName { model: ModelName { provider, id, name }, level: scoped.thinking_level }
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
