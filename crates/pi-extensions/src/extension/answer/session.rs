//! Answers before a session is left, forked, compacted or navigated.

use pi_coding_agent::extension::{
    BranchSummaryText, Compaction, CompactionText, SwitchDecision, TreeDecision,
};
use serde_json::Value;

use super::{field, is_true};

/// Reads `{ cancel?, skipConversationRestore? }`; `None` without a result.
pub(super) fn switch(result: &Value) -> Option<SwitchDecision> {
    let cancel = is_true(result, "cancel");
    let skip_conversation_restore = is_true(result, "skipConversationRestore");
    result.is_object().then_some(SwitchDecision { cancel, skip_conversation_restore })
}

/// Reads `{ cancel?, compaction? }`.
pub(super) fn compaction(result: &Value) -> Result<Compaction, String> {
    if is_true(result, "cancel") {
        return Ok(Compaction::Cancel);
    }
    let Some(text) = field::<Value>(result, "compaction")? else { return Ok(Compaction::Proceed) };
    Ok(Compaction::Summary(Box::new(CompactionText {
        summary: required(&text, "summary")?,
        first_kept_entry_id: required(&text, "firstKeptEntryId")?,
        tokens_before: field::<f64>(&text, "tokensBefore")?.unwrap_or_default() as u64,
        details: field(&text, "details")?,
        usage: field(&text, "usage")?,
    })))
}

/// Reads `{ cancel?, summary?, customInstructions?, replaceInstructions?, label? }`.
pub(super) fn tree(result: &Value) -> Result<TreeDecision, String> {
    let summary = match field::<Value>(result, "summary")? {
        None => None,
        Some(text) => Some(BranchSummaryText {
            summary: required(&text, "summary")?,
            details: field(&text, "details")?,
            usage: field(&text, "usage")?,
        }),
    };
    Ok(TreeDecision {
        cancel: is_true(result, "cancel"),
        summary,
        instructions: field(result, "customInstructions")?,
        replace_instructions: field(result, "replaceInstructions")?,
        label: field(result, "label")?,
    })
}

fn required(value: &Value, name: &str) -> Result<String, String> {
    field(value, name)?.ok_or_else(|| format!("`{name}` is missing"))
}
