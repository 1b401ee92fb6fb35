//! Encodes the thinking level in the dialects of eleven vendors.
//!
//! Two rules hold for all: nothing is sent for models that cannot think, and a level is sent under
//! the model's own name for it.

use pi_protocol::ThinkingLevel;
use serde_json::{Map, Value, json};

use super::compat::{Compat, ThinkingFormat};
use crate::wire::Call;

/// Output tokens that a thinking budget reserves for the answer.
const ANSWER_RESERVE: u64 = 1024;

/// Adds the thinking parameters; `max_tokens` is the output limit of the request.
pub(super) fn add(
    call: &Call,
    compat: &Compat,
    max_tokens: Option<u64>,
    body: &mut Map<String, Value>,
) {
    if !call.model.reasoning {
        return;
    }
    let thinking = Thinking::of(call, max_tokens);
    let mut set = |name: &str, value: Value| {
        body.insert(name.to_owned(), value);
    };
    let enabled = thinking.level.is_some();
    let effort = if compat.reasoning_effort { thinking.effort.as_deref() } else { None };
    match compat.thinking_format {
        ThinkingFormat::OpenAi => {
            if let Some(effort) = effort.or(thinking.off_effort(compat)) {
                set("reasoning_effort", effort.into());
            }
        }
        ThinkingFormat::OpenRouter => {
            if let Some(effort) = &thinking.effort {
                set("reasoning", json!({"effort": effort}));
            } else if !thinking.cannot_stop {
                set("reasoning", json!({"effort": thinking.off.as_deref().unwrap_or("none")}));
            }
        }
        ThinkingFormat::AntLing => {
            if let Some(effort) = &thinking.mapped {
                set("reasoning", json!({"effort": effort}));
            }
        }
        ThinkingFormat::Together => {
            set("reasoning", json!({"enabled": enabled}));
            if let Some(effort) = effort {
                set("reasoning_effort", effort.into());
            }
        }
        ThinkingFormat::DeepSeek => {
            if enabled || !thinking.cannot_stop {
                set("thinking", json!({"type": if enabled { "enabled" } else { "disabled" }}));
            }
            if let Some(effort) = effort {
                set("reasoning_effort", effort.into());
            }
        }
        ThinkingFormat::Zai => {
            let thinking = if enabled {
                json!({"type": "enabled", "clear_thinking": false})
            } else {
                json!({"type": "disabled"})
            };
            set("thinking", thinking);
            if let Some(effort) = effort {
                set("reasoning_effort", effort.into());
            }
        }
        ThinkingFormat::Qwen => {
            set("enable_thinking", enabled.into());
            if let Some(effort) = effort {
                set("reasoning_effort", effort.into());
            }
        }
        ThinkingFormat::QwenChatTemplate => {
            let kwargs = json!({"enable_thinking": enabled, "preserve_thinking": true});
            set("chat_template_kwargs", kwargs);
        }
        ThinkingFormat::ChatTemplate => {
            let kwargs = thinking.resolve(&compat.chat_template_kwargs);
            if !kwargs.is_empty() {
                set("chat_template_kwargs", kwargs.into());
            }
        }
        ThinkingFormat::Baseten => {
            let args = thinking.resolve(&compat.chat_template_args);
            if !args.is_empty() {
                set("chat_template_args", args.into());
            }
            if let Some(effort) = effort.or(thinking.off_effort(compat)) {
                set("reasoning_effort", effort.into());
            }
        }
        ThinkingFormat::StringThinking => {
            let off = || (!thinking.cannot_stop).then(|| thinking.off.as_deref().unwrap_or("none"));
            if let Some(word) = thinking.effort.as_deref().or_else(off) {
                set("thinking", word.into());
            }
        }
    }
    if let (Some(field), Some(budget)) = (&compat.thinking_budget_field, thinking.budget) {
        set(field, budget.into());
    }
}

/// The requested thinking, in terms of the model.
struct Thinking {
    /// The thinking level; `None` is off.
    level: Option<ThinkingLevel>,
    /// The model's own name for the level, if its record has one.
    mapped: Option<String>,
    /// The model's own name for the level, or the name of the level.
    effort: Option<String>,
    /// The model's own name for no thinking.
    off: Option<String>,
    /// True if thinking cannot be disabled.
    cannot_stop: bool,
    /// Thinking tokens within the output limit.
    budget: Option<u64>,
}

impl Thinking {
    fn of(call: &Call, max_tokens: Option<u64>) -> Self {
        let model = &call.model;
        let level = call.thinking();
        let mapped = level.and_then(|level| model.mapped_thinking(level)).map(str::to_owned);
        let budget = level.map(|level| {
            let room = max_tokens.map_or(u64::MAX, |max| max.saturating_sub(ANSWER_RESERVE));
            level.budget(&call.options.thinking_budgets).min(room)
        });
        Self {
            level,
            effort: mapped.clone().or_else(|| level.map(|level| level.as_str().to_owned())),
            mapped,
            off: model.mapped_thinking(ThinkingLevel::Off).map(str::to_owned),
            cannot_stop: model.lacks_thinking(ThinkingLevel::Off),
            budget: budget.filter(|budget| *budget > 0),
        }
    }

    /// Returns the model's own name for no thinking, if thinking is off and the endpoint supports
    /// an effort.
    fn off_effort(&self, compat: &Compat) -> Option<&str> {
        if self.level.is_none() && compat.reasoning_effort { self.off.as_deref() } else { None }
    }

    /// Replaces the variables in template arguments, such as `{"$var": "thinking.effort"}`.
    fn resolve(&self, arguments: &Map<String, Value>) -> Map<String, Value> {
        let resolved = arguments.iter().filter_map(|(name, value)| {
            let variable = match value {
                Value::Object(object) if object.contains_key("$var") => object,
                literal => return Some((name.clone(), literal.clone())),
            };
            let omit = variable.get("omitWhenOff").is_some_and(|omit| omit == true);
            if omit && self.level.is_none() {
                return None;
            }
            let value = match variable.get("$var")?.as_str()? {
                "thinking.enabled" => self.level.is_some().into(),
                "thinking.effort" => self.effort.clone().or_else(|| self.off.clone())?.into(),
                "thinking.budget" => self.budget?.into(),
                _ => return None,
            };
            Some((name.clone(), value))
        });
        resolved.collect()
    }
}
