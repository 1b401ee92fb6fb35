//! The consumption of a run against its limits, shared by everything that works for it.
//!
//! A budget is a node of a tree: a run of the loop, a prompt with its retries, a sub-agent, a whole
//! unattended run. What a node consumes, its ancestors consume too, and the first limit on the way
//! to the root ends the work.

mod charge;
mod metered;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use pi_base::lock;
use pi_protocol::{Request, Usage};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::limits::{Limit, Limits};

pub(crate) use charge::Charge;
pub use metered::MeteredProvider;

/// Output limit of a model that does not name its own.
const UNKNOWN_MAX_TOKENS: u64 = 8192;

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
    /// Time since the start; in milliseconds where it is stored.
    #[serde(rename = "wallTimeMs", with = "millis")]
    pub wall_time: Duration,
    /// Tool calls by the name of the tool.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub calls_per_tool: BTreeMap<String, u32>,
}

/// Tokens, cost and bytes of one request or call.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Amount {
    pub(crate) tokens: u64,
    pub(crate) cost: f64,
    pub(crate) bytes: u64,
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
        self.overdue().map_or(Ok(()), Err)?;
        let give_back = |spent: &mut Spent| spent.turns = spent.turns.saturating_sub(1);
        self.take(give_back, |limits, spent| {
            if limits.turns.is_some_and(|most| spent.turns >= most) {
                return Err(Limit::Turns);
            }
            used_up(limits, spent).map_or(Ok(()), Err)?;
            spent.turns += 1;
            Ok(())
        })
    }

    /// Counts a call of a tool, or returns the limit that forbids it.
    pub fn take_tool_call(&self, tool: &str) -> Result<(), Limit> {
        self.take(
            |spent| uncount_call(spent, tool),
            |limits, spent| {
                if limits.tool_calls.is_some_and(|most| spent.tool_calls >= most) {
                    return Err(Limit::ToolCalls);
                }
                let calls = spent.calls_per_tool.get(tool).copied().unwrap_or(0);
                if limits.calls_per_tool.get(tool).is_some_and(|most| calls >= *most) {
                    return Err(Limit::CallsPerTool);
                }
                spent.tool_calls += 1;
                spent.calls_per_tool.insert(tool.to_owned(), calls + 1);
                Ok(())
            },
        )
    }

    /// Takes back the count of a call that was suspended. It is counted when it is executed.
    pub(crate) fn give_back_tool_call(&self, tool: &str) {
        self.path().for_each(|node| uncount_call(&mut node.state().spent, tool));
    }

    /// Takes from the root down, and gives back if a node below refuses.
    fn take(
        &self,
        give_back: impl Fn(&mut Spent) + Copy,
        take: impl Fn(&Limits, &mut Spent) -> Result<(), Limit> + Copy,
    ) -> Result<(), Limit> {
        if let Some(parent) = &self.0.parent {
            parent.take(give_back, take)?;
        }
        let taken = take(&self.0.limits, &mut self.state().spent);
        if taken.is_err()
            && let Some(parent) = &self.0.parent
        {
            parent.path().for_each(|node| give_back(&mut node.state().spent));
        }
        taken
    }

    /// Adds the usage of a request.
    pub fn add_usage(&self, usage: &Usage) {
        let amount = Amount { tokens: usage.total_tokens, cost: usage.cost.total, bytes: 0 };
        self.replace(Amount::default(), amount);
    }

    /// Adds bytes of an answer or a tool result.
    pub fn add_output(&self, bytes: usize) {
        self.replace(Amount::default(), Amount { bytes: bytes as u64, ..Amount::default() });
    }

    /// Adds the output of a tool call, as far as this budget, which is that of the call alone, does
    /// not contain it yet: a tool may have counted its output or its requests while it ran.
    pub(crate) fn add_result(&self, usage: Option<&Usage>, bytes: u64) {
        let spent = self.spent();
        let missing = Amount {
            tokens: usage.map_or(0, |usage| usage.total_tokens.saturating_sub(spent.tokens)),
            cost: usage.map_or(0.0, |usage| (usage.cost.total - spent.cost).max(0.0)),
            bytes: bytes.saturating_sub(spent.output_bytes),
        };
        self.replace(Amount::default(), missing);
    }

    /// Replaces an amount that was added before.
    pub(crate) fn replace(&self, old: Amount, new: Amount) {
        if old == new {
            return;
        }
        for node in self.path() {
            let spent = &mut node.state().spent;
            spent.tokens = spent.tokens.saturating_sub(old.tokens).saturating_add(new.tokens);
            spent.cost = (spent.cost + (new.cost - old.cost)).max(0.0);
            spent.output_bytes =
                spent.output_bytes.saturating_sub(old.bytes).saturating_add(new.bytes);
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
                let (limits, state) = (&node.0.limits, node.state());
                if limits.turns.is_some_and(|most| state.spent.turns >= most) {
                    return Some(Limit::Turns);
                }
                used_up(limits, &state.spent)
            })
            .or_else(|| self.overdue())
    }

    /// Returns the limit that was exceeded in the middle of an answer.
    pub fn exceeded(&self) -> Option<Limit> {
        let limit = self.path().find_map(|node| {
            let (Limits { tokens, cost, .. }, state) = (&node.0.limits, node.state());
            if tokens.is_some_and(|most| state.spent.tokens > most) {
                Some(Limit::Tokens)
            } else if cost.is_some_and(|most| state.spent.cost > most) {
                Some(Limit::Cost)
            } else {
                None
            }
        });
        limit.or_else(|| self.output_exceeded())
    }

    /// Returns the limit of output or time that was exceeded.
    pub fn output_exceeded(&self) -> Option<Limit> {
        let exceeds = |node: &Self| {
            let most = node.0.limits.output_bytes;
            most.is_some_and(|most| node.state().spent.output_bytes > most)
        };
        if self.path().any(exceeds) { Some(Limit::OutputBytes) } else { self.overdue() }
    }

    /// Limits the answer of a request to what the limits of tokens and cost leave. Returns the limit
    /// in force if that is less than the request or the model allows.
    pub(crate) fn limit_output(&self, request: &mut Request) -> Option<Limit> {
        let (left, limit) = self.output_left(request.model.cost.rate_for(0).output)?;
        let of_model = Some(request.model.max_tokens).filter(|most| *most > 0);
        let allowed = request.options.max_tokens.or(of_model).unwrap_or(UNKNOWN_MAX_TOKENS);
        if left >= allowed {
            return None;
        }
        // A request for no token is invalid.
        request.options.max_tokens = Some(left.max(1));
        Some(limit)
    }

    /// Returns the number of output tokens that the limits of tokens and cost leave, at a price per
    /// million.
    fn output_left(&self, price: f64) -> Option<(u64, Limit)> {
        let of_node = |node: &Self| {
            let state = node.state();
            let Limits { tokens, cost, .. } = &node.0.limits;
            let tokens = tokens.map(|most| most.saturating_sub(state.spent.tokens));
            // The cast rounds down, and makes a negative number zero.
            let affordable = cost.map(|most| ((most - state.spent.cost) / (price / 1e6)) as u64);
            let affordable = if price > 0.0 { affordable } else { None };
            [tokens.map(|left| (left, Limit::Tokens)), affordable.map(|left| (left, Limit::Cost))]
        };
        self.path().flat_map(of_node).flatten().min_by_key(|(left, _)| *left)
    }

    /// Returns the time limit that has passed.
    pub fn overdue(&self) -> Option<Limit> {
        let now = Instant::now();
        self.deadlines().find(|(at, _)| *at <= now).map(|(_, limit)| limit)
    }

    /// Returns the time at which the next time limit passes.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.deadlines().map(|(at, _)| at).min()
    }

    fn deadlines(&self) -> impl Iterator<Item = (Instant, Limit)> {
        let of_node = |node: &Self| {
            let state = node.state();
            let Limits { wall_time, idle_time, .. } = &node.0.limits;
            [
                wall_time.map(|limit| (state.started + limit, Limit::WallTime)),
                idle_time.map(|limit| (state.last_activity + limit, Limit::IdleTime)),
            ]
        };
        self.path().flat_map(of_node).flatten()
    }

    /// Returns this budget and its ancestors.
    fn path(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |node| node.0.parent.as_ref())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0.state)
    }
}

fn uncount_call(spent: &mut Spent, tool: &str) {
    spent.tool_calls = spent.tool_calls.saturating_sub(1);
    if let Some(calls) = spent.calls_per_tool.get_mut(tool) {
        *calls = calls.saturating_sub(1);
    }
}

/// Returns the limit of tokens, cost or output that is used up.
fn used_up(limits: &Limits, spent: &Spent) -> Option<Limit> {
    if limits.tokens.is_some_and(|most| spent.tokens >= most) {
        Some(Limit::Tokens)
    } else if limits.cost.is_some_and(|most| spent.cost >= most) {
        Some(Limit::Cost)
    } else if limits.output_bytes.is_some_and(|most| spent.output_bytes >= most) {
        Some(Limit::OutputBytes)
    } else {
        None
    }
}

/// Durations as whole milliseconds.
mod millis {
    use std::time::Duration;

    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}
