//! The consumption of a run against its limits, shared by everything that works for it.
//!
//! A budget is a node of a tree: a run of the loop, a prompt with its retries, a sub-agent, a whole
//! unattended run. What a node consumes, its ancestors consume too, and the first limit on the way
//! to the root ends the work.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pi_protocol::Usage;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::limits::{Limit, Limits};

/// A shared budget. Clones are the same budget.
#[derive(Debug, Clone)]
pub struct Budget(Arc<Node>);

#[derive(Debug)]
struct Node {
    limits: Limits,
    parent: Option<Budget>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    spent: Spent,
    started: Instant,
    last_activity: Instant,
}

/// The consumption of a budget so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Spent {
    /// Requests to models.
    pub turns: u32,
    /// Tool calls.
    pub tool_calls: u32,
    /// Tokens, input and output together.
    pub tokens: u64,
    /// Cost in US dollars.
    pub cost: f64,
    /// Bytes of answers and tool results.
    pub output_bytes: u64,
    /// Time since the start.
    pub wall_time: Duration,
}

impl Budget {
    /// Creates a budget that starts now.
    pub fn new(limits: Limits) -> Self {
        Self::with_parent(limits, None, Spent::default())
    }

    /// Creates a budget of which a part was spent earlier, for a run that is resumed.
    pub fn resumed(limits: Limits, spent: Spent) -> Self {
        Self::with_parent(limits, None, spent)
    }

    /// Creates a budget inside of this one. Its consumption counts here, too.
    #[must_use]
    pub fn child(&self, limits: Limits) -> Self {
        Self::with_parent(limits, Some(self.clone()), Spent::default())
    }

    fn with_parent(limits: Limits, parent: Option<Self>, spent: Spent) -> Self {
        let now = Instant::now();
        let started = now.checked_sub(spent.wall_time).unwrap_or(now);
        let state = Mutex::new(State { spent, started, last_activity: now });
        Self(Arc::new(Node { limits, parent, state }))
    }

    /// Returns the limits of this budget, without those of its ancestors.
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// Returns the consumption so far.
    pub fn spent(&self) -> Spent {
        let state = self.state();
        Spent { wall_time: state.started.elapsed(), ..state.spent.clone() }
    }

    /// Counts a request, or returns the limit that forbids it.
    pub fn take_turn(&self) -> Result<(), Limit> {
        self.take(Limit::Turns, |limits, spent| {
            if limits.turns.is_some_and(|most| spent.turns >= most) {
                return Err(Limit::Turns);
            }
            exhausted(limits, spent)?;
            spent.turns += 1;
            Ok(())
        })
    }

    /// Counts a tool call, or returns the limit that forbids it.
    pub fn take_tool_call(&self) -> Result<(), Limit> {
        self.take(Limit::ToolCalls, |limits, spent| {
            if limits.tool_calls.is_some_and(|most| spent.tool_calls >= most) {
                return Err(Limit::ToolCalls);
            }
            spent.tool_calls += 1;
            Ok(())
        })
    }

    /// Takes from the root down, and gives back if a node below refuses.
    fn take(
        &self,
        what: Limit,
        take: impl Fn(&Limits, &mut Spent) -> Result<(), Limit> + Copy,
    ) -> Result<(), Limit> {
        if let Some(parent) = &self.0.parent {
            parent.take(what, take)?;
        }
        let taken = take(&self.0.limits, &mut self.state().spent);
        if taken.is_err()
            && let Some(parent) = &self.0.parent
        {
            parent.give_back(what);
        }
        taken
    }

    fn give_back(&self, what: Limit) {
        for node in self.path() {
            let spent = &mut node.state().spent;
            match what {
                Limit::Turns => spent.turns -= 1,
                _ => spent.tool_calls -= 1,
            }
        }
    }

    /// Adds the usage of a request.
    pub fn add_usage(&self, usage: &Usage) {
        for node in self.path() {
            let spent = &mut node.state().spent;
            spent.tokens = spent.tokens.saturating_add(usage.total_tokens);
            spent.cost += usage.cost.total;
        }
    }

    /// Adds bytes of an answer or a tool result.
    pub fn add_output(&self, bytes: usize) {
        for node in self.path() {
            let spent = &mut node.state().spent;
            spent.output_bytes = spent.output_bytes.saturating_add(bytes as u64);
        }
    }

    /// Records activity, for the idle time.
    pub fn activity(&self) {
        let now = Instant::now();
        for node in self.path().filter(|node| node.0.limits.idle_time.is_some()) {
            node.state().last_activity = now;
        }
    }

    /// Returns the limit that forbids another request.
    pub fn before_request(&self) -> Option<Limit> {
        self.path()
            .find_map(|node| {
                let spent = node.state().spent.clone();
                let limits = &node.0.limits;
                if limits.turns.is_some_and(|most| spent.turns >= most) {
                    return Some(Limit::Turns);
                }
                exhausted(limits, &spent).err()
            })
            .or_else(|| self.overdue())
    }

    /// Returns the limit that was reached in the middle of an answer or a tool call.
    pub fn exceeded(&self) -> Option<Limit> {
        self.path()
            .find_map(|node| exhausted(&node.0.limits, &node.state().spent).err())
            .or_else(|| self.overdue())
    }

    /// Returns the time limit that has passed.
    pub fn overdue(&self) -> Option<Limit> {
        let now = Instant::now();
        self.deadlines().into_iter().find(|(at, _)| *at <= now).map(|(_, limit)| limit)
    }

    /// Returns the time at which the next time limit passes.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.deadlines().into_iter().map(|(at, _)| at).min()
    }

    fn deadlines(&self) -> Vec<(Instant, Limit)> {
        let of_node = |node: &Self| {
            let state = node.state();
            let Limits { wall_time, idle_time, .. } = &node.0.limits;
            [
                wall_time.map(|limit| (state.started + limit, Limit::WallTime)),
                idle_time.map(|limit| (state.last_activity + limit, Limit::IdleTime)),
            ]
        };
        self.path().flat_map(of_node).flatten().collect()
    }

    /// Returns this budget and its ancestors.
    fn path(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |node| node.0.parent.as_ref())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Fails if tokens, cost or output are used up.
fn exhausted(limits: &Limits, spent: &Spent) -> Result<(), Limit> {
    if limits.tokens.is_some_and(|most| spent.tokens >= most) {
        Err(Limit::Tokens)
    } else if limits.cost.is_some_and(|most| spent.cost >= most) {
        Err(Limit::Cost)
    } else if limits.output_bytes.is_some_and(|most| spent.output_bytes >= most) {
        Err(Limit::OutputBytes)
    } else {
        Ok(())
    }
}
