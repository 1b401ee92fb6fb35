//! How much a run may take. Off by default.

use std::time::Duration;

use pi_protocol::Usage;
use serde::Serialize;
use tokio::time::Instant;

/// Limits of one run; `None` is no limit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Limits {
    /// Requests to the model.
    pub turns: Option<u32>,
    /// Calls of tools.
    pub tool_calls: Option<u32>,
    /// Tokens, input and output together, over all requests.
    pub tokens: Option<u64>,
    /// US dollars.
    pub cost: Option<f64>,
    /// From the start of the run.
    pub wall_time: Option<Duration>,
    /// Without anything happening: no event of the model, no progress of a tool.
    pub idle_time: Option<Duration>,
}

/// A limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// See [`Limits::turns`].
    Turns,
    /// See [`Limits::tool_calls`].
    ToolCalls,
    /// See [`Limits::tokens`].
    Tokens,
    /// See [`Limits::cost`].
    Cost,
    /// See [`Limits::wall_time`].
    WallTime,
    /// See [`Limits::idle_time`].
    IdleTime,
}

/// What a run has taken so far.
#[derive(Debug)]
pub(crate) struct Spent {
    limits: Limits,
    turns: u32,
    tool_calls: u32,
    tokens: u64,
    cost: f64,
    started: Instant,
    last_activity: Instant,
}

impl Spent {
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

    /// Something happened.
    pub(crate) fn activity(&mut self) {
        if self.limits.idle_time.is_some() {
            self.last_activity = Instant::now();
        }
    }

    /// A request was answered.
    pub(crate) fn turn(&mut self, usage: &Usage) {
        self.turns += 1;
        self.tokens = self.tokens.saturating_add(usage.total_tokens);
        self.cost += usage.cost.total;
    }

    /// Another call may run; counts it.
    pub(crate) fn take_tool_call(&mut self) -> Result<(), Limit> {
        if self.limits.tool_calls.is_some_and(|most| self.tool_calls >= most) {
            return Err(Limit::ToolCalls);
        }
        self.tool_calls += 1;
        Ok(())
    }

    /// The limit that forbids another request, if there is one.
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

    /// The time limit that has passed, if there is one.
    pub(crate) fn overdue(&self) -> Option<Limit> {
        let now = Instant::now();
        self.deadlines().into_iter().flatten().find(|(at, _)| *at <= now).map(|(_, limit)| limit)
    }

    /// When the next time limit passes.
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
