//! Which model a conversation begins or goes on with.

use std::sync::Arc;

use pi_protocol::{Model, ThinkingLevel};
use pi_session::Outline;

use super::{AgentOptions, CustomModel};
use crate::Diagnostic;
use crate::config::Settings;
use crate::models::{
    ModelPreferences, ModelRegistry, ModelRequest, SelectModelError, initial_model, local,
    model_scope, restore_failure, select_model, thinking_level,
};
use crate::session::ScopedModel;

/// What was chosen.
#[derive(Debug, Default)]
pub(super) struct ChosenModel {
    pub(super) model: Option<Arc<Model>>,
    pub(super) level: Option<ThinkingLevel>,
    pub(super) scoped: Vec<ScopedModel>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// Chooses. `conversation` is what an existing conversation says about it.
pub(super) async fn choose_model(
    registry: &ModelRegistry,
    options: &AgentOptions,
    settings: &Settings,
    conversation: Option<&Outline>,
) -> Result<ChosenModel, SelectModelError> {
    if let Some(CustomModel { model, .. }) = &options.custom_model {
        let level = level(model, options.thinking_level, settings, conversation);
        let model = Some(Arc::clone(model));
        return Ok(ChosenModel { model, level: Some(level), ..ChosenModel::default() });
    }
    let named =
        options.provider.iter().chain(&options.model).chain(options.models.iter().flatten());
    if named.into_iter().any(|text| local::is_named(text)) {
        registry.find_local_servers().await;
    }
    let mut chosen = by_name(registry, options)?;
    let patterns = options.models.clone().or_else(|| settings.enabled_models.clone());
    if let Some(patterns) = patterns.filter(|patterns| !patterns.is_empty()) {
        let models = registry.models();
        let available = registry.available_names(&models);
        let scope = model_scope(&patterns, &available);
        for warning in scope.warnings {
            chosen.diagnostics.push(Diagnostic::warning(None, warning.message));
        }
        for scoped in scope.models {
            let found = registry.find(scoped.model.provider, scoped.model.id);
            chosen
                .scoped
                .extend(found.map(|model| ScopedModel { model, thinking_level: scoped.level }));
        }
    }
    if chosen.model.is_none() {
        unnamed(registry, settings, conversation, &mut chosen);
    }
    if chosen.model.is_none() {
        // The last resort before there is none: a server on this machine.
        registry.find_local_servers().await;
        unnamed(registry, settings, conversation, &mut chosen);
    }
    if let (Some(model), Some(key)) = (&chosen.model, &options.api_key) {
        registry.set_key(&model.provider, key.clone());
    }
    let asked = options.thinking_level.or(chosen.level);
    if let Some(model) = &chosen.model {
        chosen.level = Some(level(model, asked, settings, conversation));
    }
    Ok(chosen)
}

/// The model that the command line names.
fn by_name(
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
        own_key: options.api_key.is_some(),
    };
    let models = registry.models();
    let names = models.names();
    let found = select_model(&request, &names, &|provider| registry.is_available(provider))?;
    if let Some(found) = found {
        chosen.model = found.model.record(|provider, id| models.find(provider, id)).map(Arc::new);
        chosen.level = found.level;
        let warning = found.warning.map(|warning| Diagnostic::warning(None, warning));
        chosen.diagnostics.extend(warning);
    }
    Ok(chosen)
}

/// The model that nobody named.
fn unnamed(
    registry: &ModelRegistry,
    settings: &Settings,
    conversation: Option<&Outline>,
    chosen: &mut ChosenModel,
) {
    let used = conversation.and_then(|context| context.model.as_ref());
    let used = used.map(|model| (model.provider.as_str(), model.model_id.as_str()));
    if let Some(first) = chosen.scoped.first().filter(|_| used.is_none()) {
        let default = settings.default_provider.as_deref().zip(settings.default_model.as_deref());
        let default = chosen
            .scoped
            .iter()
            .find(|scoped| default == Some((&scoped.model.provider, &scoped.model.id)));
        let first = default.unwrap_or(first);
        chosen.model = Some(Arc::clone(&first.model));
        chosen.level = first.thinking_level;
        return;
    }
    // The model that a conversation used is found without going through all others.
    let restored = used.filter(|(provider, _)| registry.is_available(provider));
    if let Some(model) = restored.and_then(|(provider, id)| registry.find(provider, id)) {
        chosen.model = Some(model);
        return;
    }
    let models = registry.models();
    let available = registry.available_names(&models);
    let preferences = ModelPreferences {
        session: used,
        default: settings.default_provider.as_deref().zip(settings.default_model.as_deref()),
        continuing: used.is_some(),
        ..ModelPreferences::default()
    };
    let found = initial_model(&preferences, &available);
    let instead = found.as_ref().map(|found| (found.model.provider, found.model.id));
    if let Some(used) = used {
        let failure = restore_failure(used, instead);
        chosen.diagnostics.push(Diagnostic::warning(None, failure));
    }
    chosen.model = instead.and_then(|(provider, id)| registry.find(provider, id));
}

fn level(
    model: &Model,
    asked: Option<ThinkingLevel>,
    settings: &Settings,
    conversation: Option<&Outline>,
) -> ThinkingLevel {
    let restored = conversation.and_then(|context| context.thinking_level.parse().ok());
    let none = std::collections::BTreeMap::new();
    let by_model = settings.model_thinking_levels.as_ref().unwrap_or(&none);
    // A conversation goes on as it was; settings are for new ones.
    thinking_level(
        model,
        asked.or(restored),
        by_model,
        Some(settings.default_thinking_level()),
        None,
    )
}
