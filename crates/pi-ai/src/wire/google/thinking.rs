//! Encodes `thinkingConfig`: the thinking level, as a level or as a number of tokens.

use pi_protocol::{Model, ThinkingLevel};
use serde_json::{Map, Value, json};

use super::family::Family;
use crate::wire::{Call, EncodeError};

/// The levels that Google supports.
const LEVELS: &[&str] = &["MINIMAL", "LOW", "MEDIUM", "HIGH"];

/// Encodes the `thinkingConfig` of a call; `None` for a model that cannot think.
pub(super) fn config(call: &Call) -> Result<Option<Value>, EncodeError> {
    let model = &*call.model;
    if !model.reasoning {
        return Ok(None);
    }
    let mut config = Map::new();
    match call.thinking() {
        Some(level) => {
            config.insert("includeThoughts".to_owned(), json!(true));
            if by_level(model) {
                config.insert("thinkingLevel".to_owned(), json!(level_name(model, level)?));
            } else {
                config.insert("thinkingBudget".to_owned(), json!(budget(call, level)));
            }
        }
        None => match lowest_level(model) {
            Some(level) => {
                config.insert("thinkingLevel".to_owned(), json!(level_name(model, level)?));
            }
            None => {
                let budgets = Family::of(&model.id).budgets();
                let off = if budgets.cannot_stop { budgets.minimal } else { 0 };
                config.insert("thinkingBudget".to_owned(), json!(off));
            }
        },
    }
    Ok(Some(Value::Object(config)))
}

/// Returns the level to request if thinking is off but the model cannot stop thinking.
fn lowest_level(model: &Model) -> Option<ThinkingLevel> {
    let stuck = by_level(model) && model.lacks_thinking(ThinkingLevel::Off);
    stuck.then(|| model.thinking_levels().into_iter().next()).flatten()
}

/// Returns true if the model accepts a level: by its id, or because its record maps the levels to
/// Google's names.
fn by_level(model: &Model) -> bool {
    let family = Family::of(&model.id);
    let named = || model.thinking_level_map.values().flatten().any(|name| is_level(name));
    family.thinks_by_level() || (!family.thinks_by_budget() && named())
}

fn is_level(name: &str) -> bool {
    LEVELS.iter().any(|level| level.eq_ignore_ascii_case(name))
}

fn level_name(model: &Model, level: ThinkingLevel) -> Result<String, EncodeError> {
    let name = model.mapped_thinking(level).unwrap_or_else(|| level.as_str());
    if is_level(name) {
        return Ok(name.to_ascii_uppercase());
    }
    let Model { provider, id, .. } = model;
    Err(EncodeError::BadModel(format!(
        "Unsupported Google thinking level mapping for {provider}/{id}: {level} -> {name}"
    )))
}

fn budget(call: &Call, level: ThinkingLevel) -> i64 {
    let custom = &call.options.thinking_budgets;
    let usual = Family::of(&call.model.id).budgets();
    let (custom, usual) = match level {
        ThinkingLevel::Off => (None, 0),
        ThinkingLevel::Minimal => (custom.minimal, usual.minimal),
        ThinkingLevel::Low => (custom.low, usual.low),
        ThinkingLevel::Medium => (custom.medium, usual.medium),
        ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max => {
            (custom.high, usual.high)
        }
    };
    custom.and_then(|tokens| i64::try_from(tokens).ok()).unwrap_or(usual)
}
