//! Token counts and charges.
//!
//! Vendors have different names for the same counts. A count that is missing or of the wrong
//! type is zero: an answer is not lost because of its accounting.

use pi_protocol::{Cost, ModelCost, Usage};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Report {
    prompt_tokens: Option<f64>,
    completion_tokens: Option<f64>,
    total_tokens: Option<f64>,
    #[serde(alias = "prompt_token_details")]
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    /// Cached tokens, as DeepSeek calls them.
    prompt_cache_hit_tokens: Option<f64>,
    /// Cached tokens, as Moonshot calls them.
    cached_tokens: Option<f64>,
    /// Cached tokens, as Mistral calls them.
    num_cached_tokens: Option<f64>,
    cost: Option<f64>,
    is_byok: Option<bool>,
    cost_details: Option<CostDetails>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Option<f64>,
    cache_write_tokens: Option<f64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CompletionDetails {
    reasoning_tokens: Option<f64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CostDetails {
    upstream_inference_cost: Option<f64>,
    upstream_inference_prompt_cost: Option<f64>,
    upstream_inference_completions_cost: Option<f64>,
}

/// Reads a usage report. With `bills`, the provider's own charge replaces the computed total.
pub(in crate::wire) fn read(json: &str, prices: &ModelCost, bills: bool) -> Option<Usage> {
    let report = Report::read(json)?;
    let prompt = report.prompt_tokens_details.as_ref();
    let cache_read = prompt
        .and_then(|details| details.cached_tokens)
        .or(report.prompt_cache_hit_tokens)
        .or(report.cached_tokens)
        .or(report.num_cached_tokens);
    let cache_read = count(cache_read);
    let cache_write = count(prompt.and_then(|details| details.cache_write_tokens));
    let reasoning = report.reasoning();
    let mut usage = Usage {
        input: count(report.prompt_tokens).saturating_sub(cache_read).saturating_sub(cache_write),
        output: report.output(reasoning),
        cache_read,
        cache_write,
        reasoning: Some(reasoning),
        ..Usage::default()
    };
    usage.sum_total();
    usage.price(prices);
    if bills && let Some(total) = report.bill() {
        usage.cost = Cost { total, total_from_provider: Some(true), ..usage.cost };
    }
    Some(usage)
}

impl Report {
    fn read(json: &str) -> Option<Self> {
        // serde would read a list as the fields in order.
        if !json.starts_with('{') {
            return None;
        }
        serde_json::from_str(json).ok().or_else(|| {
            let mut value: Value = serde_json::from_str(json).ok()?;
            drop_odd_values(&mut value);
            serde_json::from_value(value).ok()
        })
    }

    fn reasoning(&self) -> u64 {
        count(self.completion_tokens_details.as_ref().and_then(|details| details.reasoning_tokens))
    }

    /// Returns the output tokens, reasoning included. xAI does not include reasoning in the
    /// completion; only the total shows it.
    fn output(&self, reasoning: u64) -> u64 {
        let completion = count(self.completion_tokens);
        let counted = count(self.prompt_tokens).saturating_add(completion);
        let beside = count(self.total_tokens).saturating_sub(counted);
        if beside == reasoning { completion.saturating_add(reasoning) } else { completion }
    }

    /// Returns the charge of OpenRouter. With the user's own key, the upstream provider charges too.
    fn bill(&self) -> Option<f64> {
        let charged = self.cost.filter(|cost| is_amount(*cost))?;
        if !self.is_byok? {
            return Some(charged);
        }
        let details = self.cost_details.as_ref()?;
        let upstream = details.upstream_inference_cost.or_else(|| {
            let prompt = details.upstream_inference_prompt_cost?;
            Some(prompt + details.upstream_inference_completions_cost?)
        })?;
        is_amount(upstream).then_some(charged + upstream)
    }
}

fn is_amount(cost: f64) -> bool {
    cost.is_finite() && cost >= 0.0
}

/// Removes values that do not belong in a report.
fn drop_odd_values(value: &mut Value) {
    if let Value::Object(members) = value {
        members.retain(|name, value| match name.as_str() {
            "is_byok" => value.is_boolean(),
            "prompt_tokens_details"
            | "prompt_token_details"
            | "completion_tokens_details"
            | "cost_details" => value.is_object(),
            _ => value.is_number(),
        });
        members.values_mut().for_each(drop_odd_values);
    }
}

/// Converts a count of tokens; the cast turns negative numbers into zero.
fn count(number: Option<f64>) -> u64 {
    number.unwrap_or(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(json: &str) -> (u64, u64, u64, u64) {
        let usage = read(json, &ModelCost::default(), false).unwrap();
        assert_eq!(usage.total_tokens, usage.total_input() + usage.output);
        (usage.input, usage.output, usage.cache_read, usage.cache_write)
    }

    #[test]
    fn cached_tokens_are_read_under_the_names_of_all_vendors() {
        let cases = [
            (r#"{"prompt_tokens":100,"completion_tokens":20}"#, (100, 20, 0, 0)),
            (
                r#"{"prompt_tokens":100,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":40,"cache_write_tokens":30}}"#,
                (30, 20, 40, 30),
            ),
            (r#"{"prompt_tokens":100,"prompt_cache_hit_tokens":60}"#, (40, 0, 60, 0)),
            (r#"{"prompt_tokens":100,"cached_tokens":10}"#, (90, 0, 10, 0)),
            (r#"{"prompt_tokens":100,"num_cached_tokens":10}"#, (90, 0, 10, 0)),
            (
                r#"{"prompt_tokens":100,"prompt_token_details":{"cached_tokens":10}}"#,
                (90, 0, 10, 0),
            ),
            (
                r#"{"prompt_tokens":100,"prompt_tokens_details":{"cached_tokens":0},"prompt_cache_hit_tokens":9}"#,
                (100, 0, 0, 0),
            ),
            (
                r#"{"prompt_tokens":100,"prompt_tokens_details":{"cached_tokens":140}}"#,
                (0, 0, 140, 0),
            ),
            (r#"{"prompt_tokens":null,"completion_tokens":null}"#, (0, 0, 0, 0)),
            (
                r#"{"prompt_tokens":7.0,"completion_tokens":"x","prompt_tokens_details":[]}"#,
                (7, 0, 0, 0),
            ),
            (r#"{"prompt_tokens":-5}"#, (0, 0, 0, 0)),
        ];
        for (json, expected) in cases {
            assert_eq!(counts(json), expected, "{json}");
        }
        assert!(read("[]", &ModelCost::default(), false).is_none());
        assert!(read("7", &ModelCost::default(), false).is_none());
    }

    #[test]
    fn reasoning_is_part_of_the_output() {
        let output = |total: u64| {
            let json = format!(
                r#"{{"prompt_tokens":291,"completion_tokens":26,"total_tokens":{total},"completion_tokens_details":{{"reasoning_tokens":20}}}}"#
            );
            read(&json, &ModelCost::default(), false).map(|usage| usage.output)
        };
        // Included in the completion (OpenAI), not included (xAI), and inconsistent.
        assert_eq!(output(317), Some(26));
        assert_eq!(output(337), Some(46));
        assert_eq!(output(400), Some(26));
        assert_eq!(output(0), Some(26));
    }

    #[test]
    fn only_a_valid_charge_replaces_the_computed_cost() {
        let bill = |json: &str| {
            let usage = read(json, &ModelCost::default(), true).unwrap();
            usage.cost.total_from_provider.unwrap_or(false).then_some(usage.cost.total)
        };
        assert_eq!(bill(r#"{"cost":0.25,"is_byok":false}"#), Some(0.25));
        assert_eq!(bill(r#"{"cost":0.25}"#), None);
        assert_eq!(bill(r#"{"cost":-1,"is_byok":false}"#), None);
        assert_eq!(bill(r#"{"cost":0.25,"is_byok":true}"#), None);
        let own = r#"{"cost":0.25,"is_byok":true,"cost_details":{"upstream_inference_cost":0.5}}"#;
        assert_eq!(bill(own), Some(0.75));
        let parts = r#"{"cost":1,"is_byok":true,"cost_details":{"upstream_inference_cost":null,
            "upstream_inference_prompt_cost":0.5,"upstream_inference_completions_cost":0.25}}"#;
        assert_eq!(bill(parts), Some(1.75));
    }
}
