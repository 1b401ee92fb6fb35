//! How an endpoint is told to think, or not to.
//!
//! Eleven vendors, eleven spellings of the same wish. Two things are the same for all: nothing is
//! sent for models that cannot think, and a level is sent in the model's own word for it.

use pi_protocol::ThinkingLevel;
use serde_json::{Map, Value, json};

use super::compat::{Compat, ThinkingFormat};
use crate::wire::Call;

/// Output tokens that a thinking budget leaves for the answer.
const ANSWER_RESERVE: u64 = 1024;

/// Adds the parameters; `max_tokens` is the output limit of the request.
pub(super) fn add(
    call: &Call,
    compat: &Compat,
    max_tokens: Option<u64>,
    body: &mut Map<String, Value>,
) {
    if !call.model.reasoning {
        return;
    }
    let wish = Wish::of(call, max_tokens);
    let mut set = |name: &str, value: Value| {
        body.insert(name.to_owned(), value);
    };
    let enabled = wish.level.is_some();
    let effort = wish.effort.as_deref().filter(|_| compat.reasoning_effort);
    match compat.thinking_format {
        ThinkingFormat::OpenAi => {
            if let Some(effort) = effort.or(wish.off_word(compat)) {
                set("reasoning_effort", effort.into());
            }
        }
        ThinkingFormat::OpenRouter => {
            let none = || (!wish.cannot_stop).then(|| wish.off.as_deref().unwrap_or("none"));
            if let Some(effort) = wish.effort.as_deref().or_else(|| none().filter(|_| !enabled)) {
                set("reasoning", json!({"effort": effort}));
            }
        }
        ThinkingFormat::AntLing => {
            if let Some(effort) = &wish.mapped {
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
            if enabled || !wish.cannot_stop {
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
            let kwargs = wish.resolve(&compat.chat_template_kwargs);
            if !kwargs.is_empty() {
                set("chat_template_kwargs", kwargs.into());
            }
        }
        ThinkingFormat::Baseten => {
            let args = wish.resolve(&compat.chat_template_args);
            if !args.is_empty() {
                set("chat_template_args", args.into());
            }
            if let Some(effort) = effort.or(wish.off_word(compat)) {
                set("reasoning_effort", effort.into());
            }
        }
        ThinkingFormat::StringThinking => {
            let off = || (!wish.cannot_stop).then(|| wish.off.as_deref().unwrap_or("none"));
            if let Some(word) = wish.effort.as_deref().or_else(off) {
                set("thinking", word.into());
            }
        }
    }
    if let (Some(field), Some(budget)) = (&compat.thinking_budget_field, wish.budget) {
        set(field, budget.into());
    }
}

/// What was asked for, in the model's words.
struct Wish {
    /// The level; `None` is off.
    level: Option<ThinkingLevel>,
    /// The model's own word for the level, where its record gives one.
    mapped: Option<String>,
    /// The model's word for the level, or the level's name.
    effort: Option<String>,
    /// The model's word for not thinking.
    off: Option<String>,
    /// The model cannot be told not to think.
    cannot_stop: bool,
    /// Thinking tokens, within the output limit.
    budget: Option<u64>,
}

impl Wish {
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

    /// The model's word for not thinking, when it shall not and takes an effort.
    fn off_word(&self, compat: &Compat) -> Option<&str> {
        self.off.as_deref().filter(|_| self.level.is_none() && compat.reasoning_effort)
    }

    /// Template arguments with their variables replaced: `{"$var": "thinking.effort"}` and such.
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
