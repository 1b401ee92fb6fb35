//! Notices a run that goes in circles. Off by default.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use pi_protocol::{AssistantMessage, ToolCall, ToolResultMessage};
use serde::Serialize;

/// When a run counts as going in circles; `None` does not look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepetitionLimits {
    /// The same call this many times in a row.
    pub identical_calls: Option<usize>,
    /// This many calls in a row that alternate between two or three different ones.
    pub alternating_calls: Option<usize>,
    /// This many turns in a row in which no result was new.
    pub turns_without_news: Option<usize>,
}

/// How a run goes in circles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Repetition {
    /// The same call again and again.
    IdenticalCalls,
    /// The same few calls in turn.
    AlternatingCalls,
    /// Results that were all seen before.
    NoNews,
}

/// Different calls that still count as alternating.
const FEW: usize = 3;

/// Watches one run.
#[derive(Debug)]
pub(crate) struct Watch {
    limits: RepetitionLimits,
    recent: VecDeque<u64>,
    seen: HashSet<u64>,
    stale_turns: usize,
}

impl Watch {
    pub(crate) fn new(limits: RepetitionLimits) -> Self {
        Self { limits, recent: VecDeque::new(), seen: HashSet::new(), stale_turns: 0 }
    }

    /// Looks at a finished turn.
    pub(crate) fn turn(
        &mut self,
        message: &AssistantMessage,
        results: &[std::sync::Arc<ToolResultMessage>],
    ) -> Option<Repetition> {
        let RepetitionLimits { identical_calls, alternating_calls, turns_without_news } =
            self.limits.clone();
        let window = identical_calls.max(alternating_calls).unwrap_or(0);
        for call in message.tool_calls() {
            self.recent.push_back(call_hash(call));
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
        let few = alternating_calls.and_then(distinct_in_last);
        if few.is_some_and(|distinct| (2..=FEW).contains(&distinct)) {
            return Some(Repetition::AlternatingCalls);
        }
        if let Some(most) = turns_without_news
            && !results.is_empty()
        {
            let news = results.iter().filter(|result| self.seen.insert(result_hash(result)));
            self.stale_turns = if news.count() > 0 { 0 } else { self.stale_turns + 1 };
            if self.stale_turns >= most {
                return Some(Repetition::NoNews);
            }
        }
        None
    }
}

fn call_hash(call: &ToolCall) -> u64 {
    let mut hasher = DefaultHasher::new();
    call.name.hash(&mut hasher);
    serde_json::to_string(&call.arguments).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}

fn result_hash(result: &ToolResultMessage) -> u64 {
    let mut hasher = DefaultHasher::new();
    result.tool_name.hash(&mut hasher);
    serde_json::to_string(&result.content).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}
