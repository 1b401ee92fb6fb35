//! Limits of a run. Off by default.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Limits of one run. `None` is no limit.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Limits {
    /// Number of requests to the model.
    pub turns: Option<u32>,
    /// Number of tool calls.
    pub tool_calls: Option<u32>,
    /// Number of tokens, input and output together, over all requests.
    pub tokens: Option<u64>,
    /// Cost in US dollars.
    pub cost: Option<f64>,
    /// Time from the start of the run.
    pub wall_time: Option<Duration>,
    /// Time without an event of the model or progress of a tool.
    pub idle_time: Option<Duration>,
    /// Bytes of answers and tool results, over all requests.
    pub output_bytes: Option<u64>,
    /// Number of calls of single tools, by name.
    pub calls_per_tool: BTreeMap<String, u32>,
}

impl Limits {
    /// Sets the number of requests to the model.
    #[must_use]
    pub fn turns(mut self, turns: u32) -> Self {
        self.turns = Some(turns);
        self
    }

    /// Sets the number of tool calls.
    #[must_use]
    pub fn tool_calls(mut self, calls: u32) -> Self {
        self.tool_calls = Some(calls);
        self
    }

    /// Sets the number of tokens.
    #[must_use]
    pub fn tokens(mut self, tokens: u64) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// Sets the cost in US dollars.
    #[must_use]
    pub fn cost(mut self, dollars: f64) -> Self {
        self.cost = Some(dollars);
        self
    }

    /// Sets the time from the start of the run.
    #[must_use]
    pub fn wall_time(mut self, time: Duration) -> Self {
        self.wall_time = Some(time);
        self
    }

    /// Sets the time without an event of the model or progress of a tool.
    #[must_use]
    pub fn idle_time(mut self, time: Duration) -> Self {
        self.idle_time = Some(time);
        self
    }

    /// Sets the bytes of answers and tool results.
    #[must_use]
    pub fn output_bytes(mut self, bytes: u64) -> Self {
        self.output_bytes = Some(bytes);
        self
    }

    /// Sets the number of calls of one tool.
    #[must_use]
    pub fn calls_of(mut self, tool: impl Into<String>, calls: u32) -> Self {
        self.calls_per_tool.insert(tool.into(), calls);
        self
    }
}

/// A limit that was reached, named after the field of [`Limits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
#[allow(missing_docs)] // `Limits` has the explanations
pub enum Limit {
    Turns,
    ToolCalls,
    Tokens,
    Cost,
    WallTime,
    IdleTime,
    OutputBytes,
    CallsPerTool,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Turns => "turns",
            Self::ToolCalls => "tool calls",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
            Self::WallTime => "wall time",
            Self::IdleTime => "idle time",
            Self::OutputBytes => "output size",
            Self::CallsPerTool => "calls of one tool",
        })
    }
}
