//! Compaction: when a conversation outgrows its model, a summary replaces older history.
//!
//! Each step is a file of its own, and all but one are pure: [estimate](context_tokens) the size of
//! the context, [decide](should_compact) whether to compact, find the [cut](find_cut) between what
//! is summarized and what is kept verbatim, [prepare] both parts, and let a model
//! [write](Summarizer) the summary. Summaries of abandoned branches share the last steps.
//!
//! Nothing here changes a session. A caller knows from [`prepare`] or [`plan_recovery`] what would
//! be compacted before anything is appended or hidden.

mod attempts;
mod boundary;
mod branch;
mod compact;
mod cut;
mod estimate;
mod files;
mod mechanical;
mod prepare;
mod prompts;
mod recovery;
mod restore;
mod room;
mod serialize;
mod summarize;

mod trigger;
mod verify;

use serde::{Deserialize, Serialize};

pub use attempts::CompactionAttempts;
pub use branch::{BranchInstructions, BranchPreparation, prepare_branch, summarize_branch};
pub use compact::{
    CompactionError, CompactionOutcome, CompactionPlan, SummaryStatus, Verification, compact,
};
pub use cut::{Cut, find_cut};
pub use estimate::{ContextTokens, context_tokens, message_tokens, projected_tokens};
pub(crate) use estimate::{counted_since_compaction, counted_tokens};
pub use files::{FileLists, FileOps};
pub use prepare::{CompactionPreparation, prepare};
pub use recovery::plan_recovery;
pub use serialize::serialize_conversation;
pub use summarize::{Summarizer, SummaryError, SummaryText};
pub use trigger::{
    CheckTime, CompactionCheck, CompactionDecision, Overflow, decide, estimated_tokens,
    should_compact,
};
pub use verify::{Expectations, FactSources, Facts, Finding, OpenError, SECTIONS, check};

/// Thresholds of compaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CompactionSettings {
    /// Enables automatic compaction.
    pub enabled: bool,
    /// Tokens of the context window that have to stay free.
    pub reserve_tokens: u64,
    /// Tokens of recent history that are kept verbatim.
    pub keep_recent_tokens: u64,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self { enabled: true, reserve_tokens: 16_384, keep_recent_tokens: 20_000 }
    }
}

/// Estimates the tokens of a text.
pub fn text_tokens(text: &str) -> u64 {
    estimate::length(text).div_ceil(4)
}

/// Thresholds of branch summaries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BranchSummarySettings {
    /// Tokens of the context window that are reserved for prompt and summary.
    pub reserve_tokens: u64,
}

impl Default for BranchSummarySettings {
    fn default() -> Self {
        Self { reserve_tokens: 16_384 }
    }
}
