//! Encodes the thinking level in the three ways of this API: a token budget, an effort, and an
//! effort that may change between turns.

use pi_protocol::ThinkingLevel;
use serde_json::{Map, Value, json};

use super::compat::Compat;
use crate::wire::Call;
use crate::wire::claude::{DEFAULT_MAX_TOKENS, budgeted, effort};

/// Returns the effort of a model whose effort may change between turns; `None` for other models and
/// if thinking is off.
pub(super) fn managed_effort(call: &Call) -> Option<&str> {
    let model = &call.model;
    if !model.reasoning || !Compat::of(model).supports_mid_convo_effort {
        return None;
    }
    match call.requested_thinking() {
        Some(level) => Some(effort(call, level)),
        // A model that cannot stop thinking uses its default.
        None => model.lacks_thinking(ThinkingLevel::Off).then_some("high"),
    }
}

/// Returns true if thinking is on and limited by a token budget.
pub(super) fn is_budgeted(call: &Call, compat: &Compat) -> bool {
    call.model.reasoning
        && call.requested_thinking().is_some()
        && !compat.force_adaptive_thinking
        && !compat.supports_mid_convo_effort
}

/// Sets `thinking`, `output_config`, `max_tokens` and `temperature`.
pub(super) fn apply(call: &Call, compat: &Compat, body: &mut Map<String, Value>) {
    // The API requires a limit.
    let mut max_tokens = call.max_tokens().unwrap_or(DEFAULT_MAX_TOKENS);
    let level = if call.model.reasoning { call.requested_thinking() } else { None };
    if managed_effort(call).is_some() {
        let binding = json!({"prefix_mismatch_behavior": "drop_block"});
        let thinking =
            json!({"type": "adaptive", "display": "summarized", "block_binding": binding});
        body.insert("thinking".into(), thinking);
        // Markers between the messages set the effort in force. The effort here stays the same, so
        // that the cached prefix stays valid.
        body.insert("output_config".into(), json!({"effort": "low"}));
    } else if let Some(level) = level {
        if compat.force_adaptive_thinking {
            body.insert("thinking".into(), json!({"type": "adaptive", "display": "summarized"}));
            body.insert("output_config".into(), json!({"effort": effort(call, level)}));
        } else {
            let budget;
            (max_tokens, budget) = budgeted(call, level);
            let thinking = match budget {
                Some(budget) => {
                    json!({"type": "enabled", "budget_tokens": budget, "display": "summarized"})
                }
                None => json!({"type": "disabled"}),
            };
            body.insert("thinking".into(), thinking);
        }
    } else if call.model.reasoning && !call.model.lacks_thinking(ThinkingLevel::Off) {
        body.insert("thinking".into(), json!({"type": "disabled"}));
    }
    body.insert("max_tokens".into(), max_tokens.into());
    if let Some(temperature) = call.options.temperature
        && level.is_none()
        && compat.supports_temperature
        && !compat.supports_mid_convo_effort
    {
        body.insert("temperature".into(), temperature.into());
    }
}
