//! The group `limits`: the bounds at which a run ends although the model would continue.
//!
//! An invalid value is an error and not ignored: a misspelled limit must not mean no limit.

use std::collections::BTreeMap;
use std::time::Duration;

use pi_agent::{Limits, RepetitionLimits};
use schemars::JsonSchema;
use serde::Deserialize;

use super::number::{self, saturate};

/// The group `limits`. Zero means no limit.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct LimitsGroup {
    /// Requests to the model. The profile `unattended` has a default of 500.
    #[serde(deserialize_with = "number::optional")]
    pub max_turns: Option<u64>,
    /// Tool calls. The profile `unattended` has a default of 2000.
    #[serde(deserialize_with = "number::optional")]
    pub max_tool_calls: Option<u64>,
    /// Tokens, input and output together, over all requests.
    #[serde(deserialize_with = "number::optional")]
    pub max_tokens: Option<u64>,
    /// Cost in US dollars.
    #[serde(deserialize_with = "number::amount")]
    #[schemars(range(min = 0))]
    pub max_cost: Option<f64>,
    /// Seconds from the start of the run. The profile `unattended` has a default of 14400.
    #[serde(deserialize_with = "number::optional")]
    pub timeout_seconds: Option<u64>,
    /// Seconds without an event of the model or progress of a tool. The profile `unattended` has a
    /// default of 3600.
    #[serde(deserialize_with = "number::optional")]
    pub idle_timeout_seconds: Option<u64>,
    /// Bytes of answers and tool results. The profile `unattended` has a default of 67108864.
    #[serde(deserialize_with = "number::optional")]
    pub max_output_bytes: Option<u64>,
    /// Calls of single tools, by the name of the tool.
    pub max_calls_per_tool: Option<BTreeMap<String, u32>>,
    /// Ends a run that repeats the same tool calls. On by default in print and JSON mode, and in the
    /// profile `unattended`.
    pub detect_loops: Option<bool>,
}

impl LimitsGroup {
    /// Returns the limits of a run. Anything that the settings leave open is unlimited, unless no
    /// one watches the run.
    pub(crate) fn limits(&self, unattended: bool) -> Limits {
        let number = |set: Option<u64>, default: u64| {
            set.or(unattended.then_some(default)).filter(|limit| *limit > 0)
        };
        let seconds = |set, default| number(set, default).map(Duration::from_secs);
        let mut limits = Limits::default();
        limits.turns = number(self.max_turns, 500).map(saturate);
        limits.tool_calls = number(self.max_tool_calls, 2_000).map(saturate);
        limits.tokens = self.max_tokens.filter(|tokens| *tokens > 0);
        limits.cost = self.max_cost.filter(|dollars| *dollars > 0.0);
        limits.wall_time = seconds(self.timeout_seconds, 4 * 3600);
        limits.idle_time = seconds(self.idle_timeout_seconds, 3600);
        limits.output_bytes = number(self.max_output_bytes, 64 << 20);
        limits.calls_per_tool = self.max_calls_per_tool.clone().unwrap_or_default();
        limits.calls_per_tool.retain(|_, calls| *calls > 0);
        limits
    }

    /// Returns the repetitions at which a run ends.
    pub(crate) fn repetition(&self, is_watched: bool) -> RepetitionLimits {
        let limits = RepetitionLimits::default();
        match self.detect_loops.unwrap_or(!is_watched) {
            true => limits.identical_calls(10).alternating_calls(24).turns_without_news(24),
            false => limits,
        }
    }
}
