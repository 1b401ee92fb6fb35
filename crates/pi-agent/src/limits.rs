//! Limits of a run. Off by default.

use std::fmt;
use std::time::Duration;

use pi_protocol::Usage;
use serde::Serialize;
use tokio::time::Instant;

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
}

/// A limit that was reached, named after the field of [`Limits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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
        })
    }
}

/// The consumption of a run so far.
#[derive(Debug)]
pub(crate) struct Consumption {
    limits: Limits,
    turns: u32,
    tool_calls: u32,
    tokens: u64,
    cost: f64,
    started: Instant,
    last_activity: Instant,
}

impl Consumption {
    pub(crate) fn new(limits: Limits) -> Self {
        let now = Instant::now();
        Self {
            limits,
            turns: 0,
            tool_calls: 0,
            tokens: 0,
            cost: 0.0,
            started: now,
            last_activity: now,
        }
    }

    /// Records activity, for the idle time.
    pub(crate) fn activity(&mut self) {
        if self.limits.idle_time.is_some() {
            self.last_activity = Instant::now();
        }
    }

    /// Records a request and its usage.
    pub(crate) fn turn(&mut self, usage: &Usage) {
        self.turns += 1;
        self.tokens = self.tokens.saturating_add(usage.total_tokens);
        self.cost += usage.cost.total;
    }

    /// Counts a tool call, or returns the limit that forbids it.
    pub(crate) fn take_tool_call(&mut self) -> Result<(), Limit> {
        if self.limits.tool_calls.is_some_and(|most| self.tool_calls >= most) {
            return Err(Limit::ToolCalls);
        }
        self.tool_calls += 1;
        Ok(())
    }

    /// Returns the limit that forbids another request.
    pub(crate) fn before_request(&self) -> Option<Limit> {
        let Limits { turns, tokens, cost, .. } = &self.limits;
        if turns.is_some_and(|most| self.turns >= most) {
            Some(Limit::Turns)
        } else if tokens.is_some_and(|most| self.tokens >= most) {
            Some(Limit::Tokens)
        } else if cost.is_some_and(|most| self.cost >= most) {
            Some(Limit::Cost)
        } else {
            self.overdue()
        }
    }

    /// Returns the time limit that has passed.
    pub(crate) fn overdue(&self) -> Option<Limit> {
        let now = Instant::now();
        self.deadlines().into_iter().flatten().find(|(at, _)| *at <= now).map(|(_, limit)| limit)
    }

    /// Returns the time at which the next time limit passes.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines().into_iter().flatten().map(|(at, _)| at).min()
    }

    fn deadlines(&self) -> [Option<(Instant, Limit)>; 2] {
        [
            self.limits.wall_time.map(|limit| (self.started + limit, Limit::WallTime)),
            self.limits.idle_time.map(|limit| (self.last_activity + limit, Limit::IdleTime)),
        ]
    }
}
