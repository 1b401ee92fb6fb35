//! Thinking of Claude models, at Anthropic and at other providers.

use pi_protocol::ThinkingLevel;

use crate::wire::Call;

/// The smallest budget that the models accept.
const MIN_BUDGET: u64 = 1024;

/// The output limit if none is known: every model accepts this one.
pub(super) const DEFAULT_MAX_TOKENS: u64 = 4096;

/// Returns the output limit and the thinking budget within it; no budget if the smallest one does
/// not fit.
pub(super) fn budgeted(call: &Call, level: ThinkingLevel) -> (u64, Option<u64>) {
    let model_max = match call.model.max_tokens {
        0 => DEFAULT_MAX_TOKENS + level.budget(&call.options.thinking_budgets),
        known => known,
    };
    let allowance =
        level.split_allowance(call.options.max_tokens, model_max, &call.options.thinking_budgets);
    let max_tokens = call.fit_max_tokens(allowance.max_tokens);
    let budget = allowance.thinking.min(max_tokens.saturating_sub(MIN_BUDGET)).max(MIN_BUDGET);
    (max_tokens, Some(budget).filter(|budget| *budget < max_tokens))
}

/// Returns the effort that stands for a level.
pub(super) fn effort(call: &Call, level: ThinkingLevel) -> &str {
    call.model.mapped_thinking(level).unwrap_or(match level {
        ThinkingLevel::Off | ThinkingLevel::Minimal | ThinkingLevel::Low => "low",
        ThinkingLevel::Medium => "medium",
        ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max => "high",
    })
}
