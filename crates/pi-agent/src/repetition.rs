//! Detection of runs that repeat themselves. Off by default.
//!
//! A call is repeated if its result is the same, too. A call that takes seconds waits for something,
//! and waiting is no repetition.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use pi_protocol::{AssistantMessage, ToolCall, ToolResultMessage};
use serde::Serialize;

/// The repetitions at which a run ends. `None` turns a check off.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepetitionLimits {
    /// Number of identical tool calls in a row, with the same result.
    pub identical_calls: Option<usize>,
    /// Number of tool calls in a row that alternate between two or three different ones.
    pub alternating_calls: Option<usize>,
    /// Number of turns in a row without a new tool result.
    pub turns_without_news: Option<usize>,
}

impl RepetitionLimits {
    /// Sets the number of identical tool calls in a row.
    #[must_use]
    pub fn identical_calls(mut self, calls: usize) -> Self {
        self.identical_calls = Some(calls);
        self
    }

    /// Sets the number of alternating tool calls in a row.
    #[must_use]
    pub fn alternating_calls(mut self, calls: usize) -> Self {
        self.alternating_calls = Some(calls);
        self
    }

    /// Sets the number of turns in a row without a new tool result.
    #[must_use]
    pub fn turns_without_news(mut self, turns: usize) -> Self {
        self.turns_without_news = Some(turns);
        self
    }
}

/// A kind of repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Repetition {
    /// The same tool call several times in a row.
    IdenticalCalls,
    /// The same two or three tool calls in turn.
    AlternatingCalls,
    /// Several turns with tool results that all occurred before.
    NoNews,
}

impl fmt::Display for Repetition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::IdenticalCalls => "identical tool calls",
            Self::AlternatingCalls => "alternating tool calls",
            Self::NoNews => "no new tool results",
        })
    }
}

/// The largest number of different calls that still counts as alternating.
const ALTERNATING: usize = 3;

/// The time in milliseconds from which a call counts as waiting.
const WAITING: f64 = 3000.0;

/// The recent calls and results of a run.
#[derive(Debug)]
pub(crate) struct RepetitionDetector {
    limits: RepetitionLimits,
    recent: VecDeque<u64>,
    seen: HashSet<u64>,
    stale_turns: usize,
}

impl RepetitionDetector {
    pub(crate) fn new(limits: RepetitionLimits) -> Self {
        Self { limits, recent: VecDeque::new(), seen: HashSet::new(), stale_turns: 0 }
    }

    /// Records a finished turn. Returns the repetition that it completes. Calls that waited end all
    /// repetitions.
    pub(crate) fn turn(
        &mut self,
        message: &AssistantMessage,
        results: &[std::sync::Arc<ToolResultMessage>],
    ) -> Option<Repetition> {
        let RepetitionLimits { identical_calls, alternating_calls, turns_without_news } =
            self.limits.clone();
        if results.iter().any(|result| result.duration_ms.is_some_and(|time| time >= WAITING)) {
            self.recent.clear();
            self.stale_turns = 0;
            return None;
        }
        let window = identical_calls.max(alternating_calls).unwrap_or(0);
        for call in message.tool_calls() {
            let result = results.iter().find(|result| result.tool_call_id == call.id);
            self.recent.push_back(call_hash(call, result.map(|result| result_hash(result))));
            if self.recent.len() > window {
                self.recent.pop_front();
            }
        }
        let distinct_in_last = |count: usize| {
            let last = self.recent.iter().rev().take(count);
            (self.recent.len() >= count).then(|| last.collect::<HashSet<_>>().len())
        };
        if identical_calls.and_then(distinct_in_last) == Some(1) {
            return Some(Repetition::IdenticalCalls);
        }
        let distinct = alternating_calls.and_then(distinct_in_last);
        if distinct.is_some_and(|distinct| (2..=ALTERNATING).contains(&distinct)) {
            return Some(Repetition::AlternatingCalls);
        }
        if let Some(most) = turns_without_news
            && !results.is_empty()
        {
            let new = results.iter().filter(|result| self.seen.insert(result_hash(result)));
            self.stale_turns = if new.count() > 0 { 0 } else { self.stale_turns + 1 };
            if self.stale_turns >= most {
                return Some(Repetition::NoNews);
            }
        }
        None
    }
}

fn call_hash(call: &ToolCall, result: Option<u64>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&call.name, result).hash(&mut hasher);
    serde_json::to_string(&call.arguments).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}

fn result_hash(result: &ToolResultMessage) -> u64 {
    let mut hasher = DefaultHasher::new();
    result.tool_name.hash(&mut hasher);
    serde_json::to_string(&result.content).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}
