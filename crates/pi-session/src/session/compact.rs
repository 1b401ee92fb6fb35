//! Compacting a session.

use super::Session;
use crate::EffectsResolver;
use crate::compaction::{
    CompactionError, CompactionOutcome, CompactionPlan, CompactionSettings, Summarizer, compact,
    prepare,
};
use crate::log::Kind;

impl Session {
    /// Compacts the context at the current entry and appends the compaction, which becomes the
    /// current entry. A summary that fails the checks is repaired or replaced; see [`compact`].
    pub async fn compact(
        &mut self,
        summarizer: &Summarizer<'_>,
        settings: &CompactionSettings,
        custom_instructions: Option<&str>,
    ) -> Result<CompactionOutcome, CompactionError> {
        let plan = self.plan_compaction(settings, &summarizer.effects)?;
        let outcome = compact(summarizer, &plan, custom_instructions).await?;
        self.append_compaction(outcome.compaction.clone())?;
        Ok(outcome)
    }

    /// Plans a compaction at the current entry.
    pub fn plan_compaction(
        &mut self,
        settings: &CompactionSettings,
        effects: &EffectsResolver,
    ) -> Result<CompactionPlan, CompactionError> {
        if self.leaf.is_some_and(|leaf| self.tree.node(leaf).kind == Kind::Compaction) {
            return Err(CompactionError::AlreadyCompacted);
        }
        let entries = self.projection()?;
        let preparation =
            prepare(&entries, settings, effects).ok_or(CompactionError::NothingToCompact)?;
        // A summary that no model wrote loses more, so it should replace less, and never more.
        let keep = settings.keep_recent_tokens;
        let keep_more = keep.saturating_mul(2).min(preparation.tokens_before / 2);
        let fallback = if keep_more > keep {
            let cautious = CompactionSettings { keep_recent_tokens: keep_more, ..settings.clone() };
            prepare(&entries, &cautious, effects)
        } else {
            None
        };
        Ok(CompactionPlan { preparation, fallback, omit: Vec::new() })
    }
}
