//! Token counts and their cost at the service tier that answered.

use pi_protocol::{Model, Usage};
use serde_json::Value;

/// Reads the usage of a finished response. Every count may be missing, as on servers other than
/// OpenAI's.
pub(super) fn read(reported: Option<&Value>, tier: Option<&str>, model: &Model) -> Usage {
    let mut usage = Usage::default();
    if let Some(reported) = reported.filter(|reported| reported.is_object()) {
        let input = count(reported, "/input_tokens");
        usage.cache_read = count(reported, "/input_tokens_details/cached_tokens");
        usage.cache_write = count(reported, "/input_tokens_details/cache_write_tokens");
        usage.input = input.saturating_sub(usage.cache_read).saturating_sub(usage.cache_write);
        usage.output = count(reported, "/output_tokens");
        usage.reasoning = Some(count(reported, "/output_tokens_details/reasoning_tokens"));
        usage.total_tokens = count(reported, "/total_tokens");
        if usage.total_tokens == 0 {
            usage.sum_total();
        }
    }
    usage.price(&model.cost);
    scale(&mut usage, tier_factor(tier, model));
    usage
}

fn count(usage: &Value, pointer: &str) -> u64 {
    let Some(value) = usage.pointer(pointer) else { return 0 };
    // A float-to-integer cast saturates, as intended here.
    let rounded = || value.as_f64().map(|number| number.round() as u64);
    value.as_u64().or_else(rounded).unwrap_or(0)
}

/// Returns the price factor of a service tier.
fn tier_factor(tier: Option<&str>, model: &Model) -> f64 {
    match tier {
        Some("flex") => 0.5,
        Some("priority" | "fast") if model.id == "gpt-5.5" => 2.5,
        Some("priority" | "fast") => 2.0,
        _ => 1.0,
    }
}

fn scale(usage: &mut Usage, factor: f64) {
    // Exact comparison: the factor is one of the constants above.
    if factor == 1.0 {
        return;
    }
    let cost = &mut usage.cost;
    for part in [&mut cost.input, &mut cost.output, &mut cost.cache_read, &mut cost.cache_write] {
        *part *= factor;
    }
    cost.total = cost.input + cost.output + cost.cache_read + cost.cache_write;
}
