//! Compacting: asked for by the user, when the context is nearly full, or after a request that
//! did not fit.

use std::sync::Arc;

use pi_agent::FinishedTurn;
use pi_ai::{is_context_overflow, is_recoverable_length};
use pi_protocol::{
    AgentMessage, AssistantMessage, CancelToken, Compaction, EntryBody, Message, Model, Provider,
    StopReason,
};
use pi_session::SessionError;
use pi_session::compaction::{
    CheckTime, CompactionCheck, CompactionDecision, CompactionError, CompactionOutcome,
    CompactionPlan, CompactionSettings, Overflow, Summarizer, SummaryError, compact, decide,
    estimated_tokens, message_tokens, plan_recovery, should_compact,
};

use super::event::last_answer;
use super::{AgentSession, CompactionReason, CompactionResult, SessionNews};
use crate::extension::{BeforeCompact, CompactAnswer, Notice};

/// Why a session was not compacted.
#[derive(Debug, thiserror::Error)]
pub enum CompactError {
    /// It was stopped.
    #[error("Compaction cancelled")]
    Cancelled,
    /// There is no model to write the summary.
    #[error("No model selected")]
    NoModel,
    /// It did not work.
    #[error(transparent)]
    Failed(#[from] CompactionError),
    /// The conversation cannot be read or written.
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl AgentSession {
    /// Compacts because the user wants it. What is going on is aborted first.
    pub async fn compact(
        &self,
        instructions: Option<&str>,
    ) -> Result<CompactionResult, CompactError> {
        self.abort().await;
        let cancel = self.begin_compaction(true);
        let reason = CompactionReason::Manual;
        self.news(SessionNews::CompactionStart { reason }).await;
        let made = match self.plan(None) {
            Ok(plan) => self.make(plan, reason, instructions, false, &cancel).await,
            Err(error) => Err(error),
        };
        self.end_compaction();
        self.tell_end(reason, &made, false, "Compaction failed: ").await;
        made
    }

    /// Stops a compaction.
    pub fn abort_compaction(&self) {
        let compaction = self.state().compaction.clone();
        if let Some(cancel) = compaction {
            cancel.cancel();
        }
    }

    /// Compacts if the last answer says so. True if the failed request is to be made again.
    pub(super) async fn compact_if_needed(&self, when: CheckTime) -> bool {
        let messages = self.messages();
        let Some(answer) = last_answer(messages.iter()).cloned() else { return false };
        let Some(model) = self.model() else { return false };
        let settings = self.compaction_settings(&model);
        let compacted_at = self.compacted_at();
        let (recovery_attempted, edited) = {
            let state = self.state();
            (state.recovery_attempted, state.edited)
        };
        let check = CompactionCheck {
            when,
            answer: &answer,
            overflow: overflow_of(&answer, &model),
            model: &model,
            routed: None,
            compacted_at,
            recovery_attempted,
            edited,
        };
        let estimate =
            || self.entries().projection().ok().and_then(|entries| estimated_tokens(&entries));
        match decide(&check, &settings, estimate) {
            CompactionDecision::Nothing => false,
            CompactionDecision::Threshold => {
                self.compact_automatically(CompactionReason::Threshold, false).await;
                false
            }
            CompactionDecision::Overflow { retry } => {
                self.compact_automatically(CompactionReason::Overflow, retry).await && retry
            }
            CompactionDecision::GiveUp(why) => {
                self.news(SessionNews::CompactionEnd {
                    reason: CompactionReason::Overflow,
                    result: None,
                    aborted: false,
                    will_retry: false,
                    error_message: Some(why),
                })
                .await;
                false
            }
        }
    }

    /// Compacts between two turns of a run, if the next request would leave too little room.
    pub(super) async fn compact_between_turns(&self, turn: &FinishedTurn) {
        let Some(model) = self.model() else { return };
        let settings = self.compaction_settings(&model);
        let results: u64 = turn
            .tool_results
            .iter()
            .map(|result| message_tokens(&Message::ToolResult(Arc::clone(result)).into()))
            .sum();
        let usage = &turn.message.usage;
        let counted = usage.input + usage.output + usage.cache_read + usage.cache_write;
        let counted = if usage.total_tokens > 0 { usage.total_tokens } else { counted };
        if counted == 0 || !should_compact(counted + results, model.context_window, &settings) {
            return;
        }
        self.compact_automatically(CompactionReason::Threshold, false).await;
    }

    /// True if it was compacted.
    async fn compact_automatically(&self, reason: CompactionReason, retry: bool) -> bool {
        let Some(model) = self.model() else { return false };
        let settings = self.compaction_settings(&model);
        let plan = if retry { self.plan(Some(&settings)) } else { self.plan(None) };
        // Nothing to compact is nothing to tell: a failed answer stays where it is, and says why.
        let Ok(plan) = plan else { return false };
        if self.state().tries.refusal(plan.preparation.tokens_before).is_some() {
            return false;
        }
        let cancel = self.begin_compaction(false);
        self.news(SessionNews::CompactionStart { reason }).await;
        let before = plan.preparation.tokens_before;
        let made = self.make(plan, reason, None, retry, &cancel).await;
        self.end_compaction();
        {
            let mut state = self.state();
            match &made {
                Ok(result) => state.tries.record_result(
                    before,
                    result.estimated_tokens_after,
                    model.context_window,
                    &settings,
                ),
                Err(CompactError::Cancelled) => {}
                Err(error) => state.tries.record_failure(before, error.to_string()),
            }
            state.recovery_attempted |= retry && made.is_ok();
        }
        let prefix = match reason {
            CompactionReason::Overflow => "Context overflow recovery failed: ",
            _ => "Auto-compaction failed: ",
        };
        self.tell_end(reason, &made, retry, prefix).await;
        made.is_ok()
    }

    /// What there is to compact. With settings: without the last, failed answer.
    fn plan(&self, recovery: Option<&CompactionSettings>) -> Result<CompactionPlan, CompactError> {
        if let Some(settings) = recovery {
            let entries = self.entries().projection()?;
            let plan = plan_recovery(entries, settings).ok_or(CompactionError::NothingToCompact)?;
            return Ok(plan);
        }
        let model = self.model().ok_or(CompactError::NoModel)?;
        let settings = self.compaction_settings(&model);
        Ok(self.entries().plan_compaction(&settings)?)
    }

    async fn make(
        &self,
        plan: CompactionPlan,
        reason: CompactionReason,
        instructions: Option<&str>,
        will_retry: bool,
        cancel: &CancelToken,
    ) -> Result<CompactionResult, CompactError> {
        // Answers that are kept are from before this, those that follow from after it. Its end will
        // not do: the next answer may begin in the same millisecond.
        let began = pi_protocol::now_ms();
        let branch: Vec<_> = {
            let entries = self.entries();
            entries.branch_entries(None)?.collect::<Result<_, _>>()?
        };
        let event = BeforeCompact {
            preparation: &plan.preparation,
            branch: &branch,
            instructions,
            reason,
            will_retry,
            cancel,
        };
        let context = self.extension_context();
        let (new, tokens_after, from_extension) =
            match self.0.extensions.before_compact(&event, &context).await {
                CompactAnswer::Cancel => return Err(CompactError::Cancelled),
                CompactAnswer::Summary { summary, first_kept, tokens_before, details } => {
                    let new = Compaction {
                        summary,
                        first_kept_entry_id: first_kept,
                        tokens_before: tokens_before as f64,
                        details,
                        from_hook: Some(true),
                        ..Compaction::default()
                    };
                    (new, 0, true)
                }
                CompactAnswer::Proceed => {
                    let made = self.summarize(&plan, reason, instructions, cancel).await?;
                    (made.compaction, made.tokens_after, false)
                }
            };
        if cancel.is_cancelled() {
            return Err(CompactError::Cancelled);
        }
        if !plan.omit.is_empty() {
            self.omit(&plan.omit).await?;
        }
        let result = CompactionResult {
            summary: new.summary.clone(),
            first_kept_entry_id: new.first_kept_entry_id.clone(),
            tokens_before: new.tokens_before as u64,
            estimated_tokens_after: tokens_after,
            usage: new.usage.clone(),
            details: new.details.clone(),
        };
        let id = self.entries().append_compaction(new)?;
        self.refresh()?;
        let entry = self.entries().entry(&id)?;
        {
            let mut state = self.state();
            state.compacted_at = Some(Some(began));
            state.edited = false;
            state.last_turn_entries.clear();
        }
        let notice = Notice::SessionCompact { entry: &entry, from_extension, reason, will_retry };
        self.0.extensions.notice(&notice, &context).await;
        Ok(result)
    }

    async fn summarize(
        &self,
        plan: &CompactionPlan,
        reason: CompactionReason,
        instructions: Option<&str>,
        cancel: &CancelToken,
    ) -> Result<CompactionOutcome, CompactError> {
        let model = self.model().ok_or(CompactError::NoModel)?;
        let patient = self.patient(Some(reason));
        let summarizer = self.summarizer(&patient, model, cancel);
        compact(&summarizer, plan, instructions).await.map_err(|error| match error {
            CompactionError::Summary(SummaryError::Aborted { .. }) => CompactError::Cancelled,
            error => error.into(),
        })
    }

    /// Has summaries written by a model, as answers are.
    pub(super) fn summarizer<'a>(
        &self,
        provider: &'a dyn Provider,
        model: Arc<Model>,
        cancel: &CancelToken,
    ) -> Summarizer<'a> {
        Summarizer {
            provider,
            model,
            thinking_level: Some(self.thinking_level()),
            cancel: cancel.clone(),
            options: self.0.options.clone(),
        }
    }

    async fn tell_end(
        &self,
        reason: CompactionReason,
        made: &Result<CompactionResult, CompactError>,
        retry: bool,
        prefix: &str,
    ) {
        let aborted = matches!(made, Err(CompactError::Cancelled));
        let error = match made {
            Err(error) if !aborted => Some(format!("{prefix}{error}")),
            _ => None,
        };
        self.news(SessionNews::CompactionEnd {
            reason,
            result: made.as_ref().ok(),
            aborted,
            will_retry: retry && made.is_ok(),
            error_message: error.as_deref(),
        })
        .await;
        if made.is_err() {
            let notice = Notice::SessionCompactFailed { reason, error: error.as_deref(), aborted };
            self.0.extensions.notice(&notice, &self.extension_context()).await;
        }
    }

    fn begin_compaction(&self, manually: bool) -> CancelToken {
        let cancel = CancelToken::new();
        {
            let mut state = self.state();
            state.compaction = Some(cancel.clone());
            state.compacting_manually = manually;
        }
        self.update_busy();
        cancel
    }

    fn end_compaction(&self) {
        {
            let mut state = self.state();
            state.compaction = None;
            state.compacting_manually = false;
        }
        self.update_busy();
    }

    fn compaction_settings(&self, model: &Model) -> CompactionSettings {
        self.state().settings.compaction_for(&model.provider, &model.id)
    }

    /// When the branch was last compacted. The first call on a conversation that was opened looks
    /// through it.
    fn compacted_at(&self) -> Option<f64> {
        if let Some(known) = self.state().compacted_at {
            return known;
        }
        let found = self.entries().projection().ok().and_then(|entries| {
            let last = entries
                .iter()
                .rev()
                .find(|projected| matches!(projected.entry.body, EntryBody::Compaction(_)))?;
            last.messages.iter().find_map(|message| match message {
                AgentMessage::Custom(fields) => fields.get("timestamp")?.as_f64(),
                AgentMessage::Llm(_) => None,
            })
        });
        self.state().compacted_at = Some(found);
        found
    }
}

/// What an answer says about the size of the conversation.
fn overflow_of(answer: &AssistantMessage, model: &Model) -> Overflow {
    let window = Some(model.context_window).filter(|window| *window > 0);
    if is_context_overflow(answer, window) {
        Overflow::Exceeded
    } else if answer.stop_reason == StopReason::Length
        && is_recoverable_length(answer, model.max_tokens)
    {
        Overflow::Truncated
    } else {
        Overflow::No
    }
}
