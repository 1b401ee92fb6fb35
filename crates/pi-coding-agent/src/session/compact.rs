//! Compaction: requested by the user, near the end of the context window, or after a request that
//! did not fit.

use std::sync::Arc;

use pi_agent::FinishedTurn;
use pi_ai::{is_context_overflow, is_recoverable_length};
use pi_protocol::{
    AgentMessage, AssistantMessage, CancelToken, Compaction, Entry, EntryBody, Message, Model,
    Provider, StopReason,
};
use pi_session::SessionError;
use pi_session::compaction::{
    CheckTime, CompactionCheck, CompactionDecision, CompactionError, CompactionOutcome,
    CompactionPlan, CompactionSettings, Overflow, Summarizer, SummaryError, compact, decide,
    estimated_tokens, message_tokens, plan_recovery, should_compact,
};

use super::context::LastCompaction;
use super::last_answer;
use super::{AgentSession, SessionEvent};
use crate::event::{CompactionReason, CompactionResult};
use crate::extension::{self, BeforeCompact};

/// Reasons why a session was not compacted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// The user or an extension cancelled the compaction.
    #[error("Compaction cancelled")]
    Cancelled,
    /// No model is selected that could write the summary.
    #[error("No model selected")]
    NoModel,
    /// The summary could not be written.
    #[error(transparent)]
    Failed(#[from] CompactionError),
    /// The log cannot be read or written.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// A compaction that was appended to the log.
struct Compacted {
    result: CompactionResult,
    entry: Entry,
    from_extension: bool,
}

/// A compaction in progress.
struct Attempt<'a> {
    reason: CompactionReason,
    instructions: Option<&'a str>,
    will_retry: bool,
    cancel: &'a CancelToken,
}

impl AgentSession {
    /// Compacts the session. A run in progress is aborted first.
    pub async fn compact(
        &self,
        instructions: Option<&str>,
    ) -> Result<CompactionResult, CompactError> {
        let summary = loop {
            self.abort().await;
            // Another task may have started a run in between.
            if let Some(summary) = self.0.activity.begin_summary() {
                break summary;
            }
        };
        let cancel = summary.cancel.clone();
        let reason = CompactionReason::Manual;
        self.emit(SessionEvent::CompactionStart { reason }).await;
        let attempt = Attempt { reason, instructions, will_retry: false, cancel: &cancel };
        let compacted = match self.plan(None) {
            Ok(plan) => self.make(plan, &attempt).await,
            Err(error) => Err(error),
        };
        drop(summary);
        self.emit_end(&attempt, &compacted, "Compaction failed: ").await;
        compacted.map(|compacted| compacted.result)
    }

    /// Cancels a compaction.
    pub fn abort_compaction(&self) {
        self.0.activity.cancel_summary();
    }

    /// Compacts if the last answer calls for it. Returns true if the failed request is to be made
    /// again.
    pub(super) async fn compact_if_needed(&self, when: CheckTime) -> bool {
        let messages = self.messages();
        let Some(answer) = last_answer(messages.iter()).cloned() else { return false };
        let Some(model) = self.effective_model() else { return false };
        let settings = self.compaction_settings(&model);
        let compacted_at = self.compacted_at();
        let (recovery_attempted, edited) = {
            let sync = self.sync();
            (sync.recovery_attempted, sync.edited)
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
            || self.log().projection().ok().and_then(|entries| estimated_tokens(&entries));
        match decide(&check, &settings, estimate) {
            CompactionDecision::Nothing => false,
            CompactionDecision::Threshold => {
                self.compact_automatically(CompactionReason::Threshold, false).await;
                false
            }
            // The run ends at its limit, without a summary.
            CompactionDecision::Overflow { retry } if self.limit_reached().is_some() => retry,
            CompactionDecision::Overflow { retry } => {
                let again =
                    self.compact_automatically(CompactionReason::Overflow, retry).await && retry;
                if again {
                    self.retries(&answer);
                }
                again
            }
            CompactionDecision::GiveUp(why) => {
                self.emit(SessionEvent::CompactionEnd {
                    reason: CompactionReason::Overflow,
                    result: None,
                    aborted: false,
                    will_retry: false,
                    error_message: Some(why.to_owned()),
                    entry: None,
                    from_extension: false,
                })
                .await;
                false
            }
        }
    }

    /// Compacts between two turns of a run, if the next request would leave too little room.
    pub(super) async fn compact_between_turns(&self, turn: &FinishedTurn) {
        let Some(model) = self.effective_model() else { return };
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

    /// Compacts without being asked. Returns true if the session was compacted.
    pub(super) async fn compact_automatically(
        &self,
        reason: CompactionReason,
        retry: bool,
    ) -> bool {
        let Some(model) = self.effective_model() else { return false };
        if self.limit_reached().is_some() {
            return false;
        }
        let settings = self.compaction_settings(&model);
        let plan = if retry { self.plan(Some(&settings)) } else { self.plan(None) };
        // Nothing to compact is nothing to report: a failed answer stays where it is.
        let Ok(plan) = plan else { return false };
        let before = plan.preparation.tokens_before;
        if self.sync().attempts.refusal(before).is_some() {
            return false;
        }
        let cancel = CancelToken::new();
        self.0.activity.run(|run| run.compaction = Some(cancel.clone()));
        self.emit(SessionEvent::CompactionStart { reason }).await;
        let attempt = Attempt { reason, instructions: None, will_retry: retry, cancel: &cancel };
        let compacted = self.make(plan, &attempt).await;
        self.0.activity.run(|run| run.compaction = None);
        let refusal = {
            let mut sync = self.sync();
            match &compacted {
                Ok(compacted) => sync.attempts.record_result(
                    before,
                    compacted.result.estimated_tokens_after,
                    model.context_window,
                    &settings,
                ),
                Err(CompactError::Cancelled) => {}
                Err(error) => sync.attempts.record_failure(before, error.to_string()),
            }
            sync.recovery_attempted |= retry && compacted.is_ok();
            sync.attempts.refusal(before)
        };
        if let Some(cause) = refusal {
            self.warn(format!("The context is not compacted again until it has grown: {cause}"));
        }
        let prefix = match reason {
            CompactionReason::Overflow => "Context overflow recovery failed: ",
            CompactionReason::Manual | CompactionReason::Threshold => "Auto-compaction failed: ",
        };
        self.emit_end(&attempt, &compacted, prefix).await;
        compacted.is_ok()
    }

    /// Plans a compaction; with `recovery`, without the last, failed answer.
    fn plan(&self, recovery: Option<&CompactionSettings>) -> Result<CompactionPlan, CompactError> {
        if let Some(settings) = recovery {
            let entries = self.log().projection()?;
            let plan = plan_recovery(entries, settings, &self.effects_resolver())
                .ok_or(CompactionError::NothingToCompact)?;
            return Ok(plan);
        }
        let model = self.effective_model().ok_or(CompactError::NoModel)?;
        let settings = self.compaction_settings(&model);
        Ok(self.log().plan_compaction(&settings, &self.effects_resolver())?)
    }

    async fn make(
        &self,
        plan: CompactionPlan,
        attempt: &Attempt<'_>,
    ) -> Result<Compacted, CompactError> {
        // Answers that are kept are older than this time, answers that follow are newer. The end
        // of the compaction will not do: the next answer may begin in the same millisecond.
        let began = pi_protocol::now_ms();
        let decision = self.ask_before_compact(&plan, attempt).await?;
        let (new, tokens_after, from_extension) = match decision {
            extension::Compaction::Cancel => return Err(CompactError::Cancelled),
            extension::Compaction::Summary(text) => {
                let new = Compaction {
                    summary: text.summary,
                    first_kept_entry_id: text.first_kept_entry_id,
                    tokens_before: text.tokens_before as f64,
                    details: text.details,
                    usage: text.usage,
                    from_hook: Some(true),
                    ..Compaction::default()
                };
                (new, 0, true)
            }
            extension::Compaction::Proceed => {
                let made = self.summarize(&plan, attempt).await?;
                (made.compaction, made.tokens_after, false)
            }
        };
        if attempt.cancel.is_cancelled() {
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
        let id = self.log().append_compaction(new)?;
        self.refresh()?;
        self.sync().compacted(began);
        let entry = self.log().entry(&id)?;
        Ok(Compacted { result, entry, from_extension })
    }

    async fn ask_before_compact(
        &self,
        plan: &CompactionPlan,
        attempt: &Attempt<'_>,
    ) -> Result<extension::Compaction, CompactError> {
        if !self.is_answered(extension::QuestionKind::BeforeCompact) {
            return Ok(extension::Compaction::Proceed);
        }
        let branch: Vec<Entry> = self.log().branch_entries(None)?.collect::<Result<_, _>>()?;
        let question = BeforeCompact::new(
            Arc::new(plan.preparation.clone()),
            branch.into(),
            attempt.instructions,
            attempt.reason,
            attempt.will_retry,
            attempt.cancel,
        );
        Ok(self.ask(question).await.answer.unwrap_or_default())
    }

    async fn summarize(
        &self,
        plan: &CompactionPlan,
        attempt: &Attempt<'_>,
    ) -> Result<CompactionOutcome, CompactError> {
        let model = self.summary_model().ok_or(CompactError::NoModel)?;
        let provider = self.retrying_provider(Some(attempt.reason));
        let summarizer = self.summarizer(&provider, model, attempt.cancel);
        compact(&summarizer, plan, attempt.instructions).await.map_err(|error| match error {
            CompactionError::Summary(SummaryError::Aborted { .. }) => CompactError::Cancelled,
            error => error.into(),
        })
    }

    /// Returns a summarizer that calls the model of the session.
    pub(super) fn summarizer<'a>(
        &self,
        provider: &'a dyn Provider,
        model: Arc<Model>,
        cancel: &CancelToken,
    ) -> Summarizer<'a> {
        Summarizer::new(provider, model)
            .thinking_level(self.thinking_level())
            .cancel(cancel.clone())
            .options(self.resources().options.clone())
            .effects(self.effects_resolver())
    }

    async fn emit_end(
        &self,
        attempt: &Attempt<'_>,
        compacted: &Result<Compacted, CompactError>,
        prefix: &str,
    ) {
        let aborted = matches!(compacted, Err(CompactError::Cancelled));
        let error_message = match compacted {
            Err(error) if !aborted => Some(format!("{prefix}{error}")),
            _ => None,
        };
        let compacted = compacted.as_ref().ok();
        self.emit(SessionEvent::CompactionEnd {
            reason: attempt.reason,
            result: compacted.map(|compacted| Arc::new(compacted.result.clone())),
            aborted,
            will_retry: attempt.will_retry && compacted.is_some(),
            error_message,
            entry: compacted.map(|compacted| Arc::new(compacted.entry.clone())),
            from_extension: compacted.is_some_and(|compacted| compacted.from_extension),
        })
        .await;
    }

    pub(super) fn compaction_settings(&self, model: &Model) -> CompactionSettings {
        self.settings().compaction.of(&model.provider, &model.id)
    }

    /// Returns the time of the last compaction of the branch. The first call on a session that was
    /// opened searches the log.
    fn compacted_at(&self) -> Option<f64> {
        let known = self.sync().last_compaction;
        match known {
            LastCompaction::At(time) => return Some(time),
            LastCompaction::Never => return None,
            LastCompaction::Unknown => {}
        }
        let found = self.log().projection().ok().and_then(|entries| {
            let last = entries
                .iter()
                .rev()
                .find(|projected| matches!(projected.entry.body, EntryBody::Compaction(_)))?;
            last.messages.iter().find_map(|message| match message {
                AgentMessage::Custom(fields) => fields.get("timestamp")?.as_f64(),
                AgentMessage::Llm(_) => None,
            })
        });
        self.sync().last_compaction = found.map_or(LastCompaction::Never, LastCompaction::At);
        found
    }
}

/// Returns what an answer tells about the size of the context.
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
