//! Applying records of the user's file to models.

use pi_ai::providers;
use pi_protocol::{InputKind, Model};
use serde_json::{Map, Value};

use crate::file::{CostRecord, ModelOverride, ModelRecord, ProviderRecord};

/// Context window of a model whose record does not give one.
const CONTEXT_WINDOW: u64 = 128_000;
/// Output limit of a model whose record does not give one.
const MAX_TOKENS: u64 = 16_384;

/// Returns the model that a record defines.
pub(crate) fn defined(provider: &str, of: &ProviderRecord, record: &ModelRecord) -> Model {
    let built_in = providers::provider(provider);
    let api = record.api.as_ref().or(of.api.as_ref()).cloned();
    let base_url = record.base_url.as_ref().or(of.base_url.as_ref()).cloned();
    let mut model = Model {
        id: record.id.clone(),
        name: record.id.clone(),
        provider: provider.to_owned(),
        api: api.or_else(|| Some(built_in?.api.to_owned())).unwrap_or_default(),
        base_url: base_url.or_else(|| Some(built_in?.base_url?.to_owned())).unwrap_or_default(),
        input: vec![InputKind::Text],
        context_window: CONTEXT_WINDOW,
        max_tokens: MAX_TOKENS,
        compat: of.compat.clone(),
        ..Model::default()
    };
    apply(&mut model, &record.facts);
    model
}

/// Applies the record of a provider to a built-in model.
pub(crate) fn provider_wide(model: &mut Model, of: &ProviderRecord) {
    if let Some(url) = &of.base_url {
        model.base_url.clone_from(url);
    }
    merge(&mut model.compat, &of.compat);
}

/// Applies an override to a model, except for its headers, which are resolved for each request.
pub(crate) fn apply(model: &mut Model, facts: &ModelOverride) {
    if let Some(name) = &facts.name {
        model.name.clone_from(name);
    }
    model.reasoning = facts.reasoning.unwrap_or(model.reasoning);
    model.thinking_level_map.extend(facts.thinking_level_map.clone());
    if let Some(input) = &facts.input {
        model.input.clone_from(input);
    }
    if let Some(limits) = &facts.input_limits {
        let known = model.input_limits.get_or_insert_default();
        known.max_request_bytes = limits.max_request_bytes.or(known.max_request_bytes);
        if let Some(images) = &limits.images {
            let known = known.images.get_or_insert_default();
            known.max_per_message = images.max_per_message.or(known.max_per_message);
            known.max_per_request = images.max_per_request.or(known.max_per_request);
            if let Some(resize) = &images.resize {
                let known = known.resize.get_or_insert_default();
                known.max_width = resize.max_width.or(known.max_width);
                known.max_height = resize.max_height.or(known.max_height);
                known.max_bytes = resize.max_bytes.or(known.max_bytes);
                known.jpeg_quality = resize.jpeg_quality.or(known.jpeg_quality);
            }
        }
    }
    if let Some(cost) = &facts.cost {
        apply_cost(model, cost);
    }
    if let Some(cache) = &facts.prompt_cache {
        let known = model.prompt_cache.get_or_insert_default();
        known.short = cache.short.or(known.short);
        known.long = cache.long.or(known.long);
    }
    model.context_window = facts.context_window.map_or(model.context_window, whole);
    model.max_tokens = facts.max_tokens.map_or(model.max_tokens, whole);
    merge(&mut model.sampling_params, &facts.sampling_params);
    for (level, params) in &facts.sampling_params_by_thinking_level {
        merge(model.sampling_params_by_thinking_level.entry(*level).or_default(), params);
    }
    merge(&mut model.compat, &facts.compat);
}

fn apply_cost(model: &mut Model, cost: &CostRecord) {
    let known = &mut model.cost;
    known.input = cost.input.unwrap_or(known.input);
    known.output = cost.output.unwrap_or(known.output);
    known.cache_read = cost.cache_read.unwrap_or(known.cache_read);
    known.cache_write = cost.cache_write.unwrap_or(known.cache_write);
    if let Some(tiers) = &cost.tiers {
        known.tiers.clone_from(tiers);
    }
}

/// Rounds a number of tokens up, so that no limit becomes zero.
fn whole(number: f64) -> u64 {
    number.ceil() as u64
}

/// Merges objects and replaces other values.
fn merge(into: &mut Map<String, Value>, from: &Map<String, Value>) {
    for (key, value) in from {
        match (into.get_mut(key), value) {
            (Some(Value::Object(known)), Value::Object(new)) => merge(known, new),
            _ => {
                into.insert(key.clone(), value.clone());
            }
        }
    }
}
