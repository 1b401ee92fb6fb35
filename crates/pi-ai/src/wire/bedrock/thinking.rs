//! Encodes the thinking level, and the other fields that belong to a vendor.

use pi_protocol::ThinkingLevel;
use serde_json::{Map, Value, json};

use super::endpoint::Endpoint;
use super::family::{Family, Thinking};
use crate::wire::Call;
use crate::wire::claude;

const INTERLEAVED: &str = "interleaved-thinking-2025-05-14";
const BINDING: &str = "thinking-binding-controls-2026-08-01";

/// The output limit and the fields of a vendor.
#[derive(Debug, Default)]
pub(super) struct Requested {
    /// The output limit, which includes a thinking budget.
    pub(super) max_tokens: Option<u64>,
    /// `additionalModelRequestFields`.
    pub(super) fields: Map<String, Value>,
}

/// Returns the output limit and the fields of a call.
pub(super) fn requested(call: &Call, family: Family, endpoint: &Endpoint) -> Requested {
    let mut requested = Requested { max_tokens: call.max_tokens(), fields: Map::new() };
    let level = if call.model.reasoning { call.requested_thinking() } else { None };
    let Some(level) = level else { return requested };
    match family {
        Family::Claude(_) => claude_fields(call, level, family, endpoint, &mut requested),
        Family::GptOss => {
            let effort = match level {
                ThinkingLevel::Off | ThinkingLevel::Minimal | ThinkingLevel::Low => "low",
                ThinkingLevel::Medium => "medium",
                ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max => "high",
            };
            requested.fields.insert("reasoning_effort".into(), effort.into());
        }
        Family::Gpt => {
            let own = match level {
                ThinkingLevel::Minimal => "low",
                other => other.as_str(),
            };
            let effort = call.model.mapped_thinking(level).unwrap_or(own);
            requested.fields.insert("reasoning".into(), json!({"effort": effort}));
        }
        // The other vendors have no such setting, or think always.
        Family::Other => {}
    }
    requested
}

fn claude_fields(
    call: &Call,
    level: ThinkingLevel,
    family: Family,
    endpoint: &Endpoint,
    requested: &mut Requested,
) {
    let is_gov = endpoint.is_gov_cloud(&call.model.id);
    let style = family.thinking();
    let mut betas = Vec::new();
    let mut thinking = match style {
        Thinking::Budget => {
            let (max_tokens, budget) = claude::budgeted(call, level);
            requested.max_tokens = Some(max_tokens);
            // Without room for the smallest budget, the model does not think.
            let Some(budget) = budget else { return };
            betas.push(INTERLEAVED);
            json!({"type": "enabled", "budget_tokens": budget})
        }
        Thinking::Adaptive | Thinking::Bound => json!({"type": "adaptive"}),
    };
    if !is_gov {
        thinking["display"] = "summarized".into();
        if style == Thinking::Bound {
            thinking["block_binding"] = json!({"prefix_mismatch_behavior": "drop_block"});
            betas.push(BINDING);
        }
    }
    requested.fields.insert("thinking".into(), thinking);
    if style != Thinking::Budget {
        let effort = claude::effort(call, level);
        requested.fields.insert("output_config".into(), json!({"effort": effort}));
    }
    if !betas.is_empty() {
        requested.fields.insert("anthropic_beta".into(), json!(betas));
    }
}
