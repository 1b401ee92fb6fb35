//! Compactions, as events report them.

use pi_protocol::Usage;
use serde::Serialize;
use serde_json::Value;

/// Occasion of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CompactionReason {
    /// The user requested it.
    Manual,
    /// The context is nearly full.
    Threshold,
    /// A request did not fit.
    Overflow,
}

/// Result of a compaction.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CompactionResult {
    /// Summary that stands for the history.
    pub summary: String,
    /// Id of the first entry that is kept.
    pub first_kept_entry_id: String,
    /// Size of the context before, in tokens.
    pub tokens_before: u64,
    /// Estimated size of the context after, in tokens.
    pub estimated_tokens_after: u64,
    /// Tokens that writing the summary took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Data that is stored with the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}
