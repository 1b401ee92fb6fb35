//! Compaction: when a conversation outgrows its model, older history gives way to a summary.
//!
//! The order in which things happen, each step a file of its own and all but one of them pure:
//! [estimate](context_tokens) how full the context is, [decide](should_compact) whether to act,
//! find the [cut](find_cut) between what is summarised and what is kept word for word,
//! [prepare] both sides, and have a model [write](Summarizer) the summary. Branch
//! summaries, for work that is left behind by going elsewhere in the tree, share the last steps.
//!
//! Nothing here changes a session. A caller learns from [`prepare`] or [`plan_recovery`] what
//! there is to compact before anything is appended or hidden.

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

/// When to compact, and how much to keep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CompactionSettings {
    /// Compact without being asked.
    pub enabled: bool,
    /// Tokens of the window that must stay free.
    pub reserve_tokens: u64,
    /// Tokens of recent history that are kept word for word.
    pub keep_recent_tokens: u64,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self { enabled: true, reserve_tokens: 16_384, keep_recent_tokens: 20_000 }
    }
}

/// The tokens of a text, estimated.
pub fn text_tokens(text: &str) -> u64 {
    estimate::length(text).div_ceil(4)
}

/// How much of a branch is summarised when it is left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BranchSummarySettings {
    /// Tokens of the window that are left for prompt and summary.
    pub reserve_tokens: u64,
}

impl Default for BranchSummarySettings {
    fn default() -> Self {
        Self { reserve_tokens: 16_384 }
    }
}
