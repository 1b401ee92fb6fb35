//! Asking a model for a summary, and refusing what is not one.
//!
//! A summary takes the place of history, so half of one must never be stored: an answer that was
//! cut off, that wants to call a tool or that is empty is an error.

use std::sync::Arc;

use pi_protocol::{
    AgentMessage, AssistantBlock, CacheRetention, CancelToken, Context, Message, Model, Provider,
    Request, StopReason, StreamOptions, ThinkingLevel, Usage, UserBlock, complete,
};

use super::{CompactionPreparation, prompts, room, serialize_conversation};
use crate::{EffectsResolver, to_llm};

/// A model that summarizes, and what it needs for that.
#[non_exhaustive]
pub struct Summarizer<'a> {
    /// The provider that receives the requests.
    pub provider: &'a dyn Provider,
    /// The model that writes the summaries.
    pub model: Arc<Model>,
    /// The thinking level, as in the session.
    pub thinking_level: Option<ThinkingLevel>,
    /// Cancels the requests.
    pub cancel: CancelToken,
    /// Key, headers and other options. Caching is always off, since no two requests share a prefix.
    pub options: StreamOptions,
    /// The effects of tool calls, from which files and open errors are known.
    pub effects: EffectsResolver,
}

/// What a model wrote, and what it took.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SummaryText {
    /// The text.
    pub text: String,
    /// Tokens and cost.
    pub usage: Usage,
}

/// Why there is no summary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SummaryError {
    /// It was cancelled.
    #[error("{label} was aborted")]
    Aborted {
        /// What was being done.
        label: String,
    },
    /// The request failed.
    #[error("{label} failed: {reason}")]
    Failed {
        /// What was being done.
        label: String,
        /// What the provider says.
        reason: String,
    },
    /// The summary is not complete.
    #[error("{label} failed: the token limit cut the summary short")]
    Incomplete {
        /// What was being done.
        label: String,
    },
    /// The model took the record for a request.
    #[error("{label} attempted to call a tool")]
    CalledTool {
        /// What was being done.
        label: String,
    },
    /// The model wrote nothing.
    #[error("{label} failed: the model returned no text")]
    Empty {
        /// What was being done.
        label: String,
    },
}

impl std::fmt::Debug for Summarizer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Summarizer")
            .field("model", &self.model.id)
            .field("thinking_level", &self.thinking_level)
            .finish_non_exhaustive()
    }
}

impl<'a> Summarizer<'a> {
    /// Creates a summarizer without thinking, options and known effects.
    pub fn new(provider: &'a dyn Provider, model: Arc<Model>) -> Self {
        Self {
            provider,
            model,
            thinking_level: None,
            cancel: CancelToken::new(),
            options: StreamOptions::default(),
            effects: EffectsResolver::default(),
        }
    }

    /// Sets the thinking level.
    #[must_use]
    pub fn thinking_level(mut self, level: ThinkingLevel) -> Self {
        self.thinking_level = Some(level);
        self
    }

    /// Sets the token that cancels the requests.
    #[must_use]
    pub fn cancel(mut self, cancel: CancelToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// Sets the options of the requests.
    #[must_use]
    pub fn options(mut self, options: StreamOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the resolver of effects.
    #[must_use]
    pub fn effects(mut self, effects: EffectsResolver) -> Self {
        self.effects = effects;
        self
    }

    /// Asks one question of the summarising model. `label` names what is being done, for errors.
    pub async fn ask(&self, label: &str, user_text: String) -> Result<SummaryText, SummaryError> {
        let context =
            Context::new().system(prompts::SYSTEM).user_blocks(vec![UserBlock::text(user_text)]);
        let request = Request::new(Arc::clone(&self.model), context, self.request_options());
        let answer = complete(self.provider, request, self.cancel.clone()).await;
        let label = label.to_owned();
        match &answer.stop_reason {
            StopReason::Aborted => return Err(SummaryError::Aborted { label }),
            StopReason::Error => {
                let reason = answer.error_message.clone();
                let reason = reason.unwrap_or_else(|| "Unknown error".to_owned());
                return Err(SummaryError::Failed { label, reason });
            }
            StopReason::Length => return Err(SummaryError::Incomplete { label }),
            _ => {}
        }
        if answer.tool_calls().next().is_some() {
            return Err(SummaryError::CalledTool { label });
        }
        let texts: Vec<&str> = answer.content.iter().filter_map(AssistantBlock::as_text).collect();
        let text = texts.join("\n");
        if text.trim().is_empty() {
            return Err(SummaryError::Empty { label });
        }
        Ok(SummaryText { text, usage: answer.usage.clone() })
    }

    /// Summarises what a compaction drops: the history, then the beginning of a split turn. File
    /// lists are not part of it.
    pub async fn summarize(
        &self,
        preparation: &CompactionPreparation,
        custom_instructions: Option<&str>,
    ) -> Result<SummaryText, SummaryError> {
        let previous = preparation.previous_summary.as_deref();
        if !preparation.is_split_turn {
            return self.history(&preparation.to_summarize, previous, custom_instructions).await;
        }
        let mut summary = if preparation.to_summarize.is_empty() {
            let text = previous.unwrap_or(prompts::NO_HISTORY).to_owned();
            SummaryText { text, usage: Usage::default() }
        } else {
            self.history(&preparation.to_summarize, previous, custom_instructions).await?
        };
        let record = self.fit(&record(&preparation.turn_prefix), "");
        let question = prompts::turn_prefix(&record, custom_instructions);
        let prefix = self.ask("Turn prefix summarization", question).await?;
        summary.text.push_str(prompts::SPLIT_TURN);
        summary.text.push_str(&prefix.text);
        summary.usage = sum(&summary.usage, &prefix.usage);
        Ok(summary)
    }

    async fn history(
        &self,
        messages: &[AgentMessage],
        previous: Option<&str>,
        focus: Option<&str>,
    ) -> Result<SummaryText, SummaryError> {
        let record = record(messages);
        let room = room::room(&self.model, previous.unwrap_or_default());
        let mut so_far = previous.map(str::to_owned);
        let mut usage = Usage::default();
        let mut text = String::new();
        for part in room::parts(&record, room) {
            let question = prompts::history(part, so_far.as_deref(), focus);
            let summary = self.ask("Summarization", question).await?;
            usage = sum(&usage, &summary.usage);
            text.clone_from(&summary.text);
            so_far = Some(summary.text);
        }
        Ok(SummaryText { text, usage })
    }

    /// A record that has to be shown in one piece, as far as there is room beside `other`.
    pub(super) fn fit(&self, record: &str, other: &str) -> String {
        room::fit(record, room::room(&self.model, other))
    }

    fn request_options(&self) -> StreamOptions {
        let mut options = self.options.clone();
        options.cache_retention = Some(CacheRetention::None);
        options.session_id.get_or_insert_with(|| uuid::Uuid::now_v7().to_string());
        let level = self.thinking_level.filter(|level| *level != ThinkingLevel::Off);
        options.reasoning = level.filter(|_| self.model.reasoning);
        options
    }
}

/// Messages as the text that a summariser reads.
pub(super) fn record(messages: &[AgentMessage]) -> String {
    let messages: Vec<Message> = messages.iter().filter_map(to_llm).collect();
    serialize_conversation(&messages)
}

/// What two requests took together.
pub(super) fn sum(a: &Usage, b: &Usage) -> Usage {
    let either = |a: Option<u64>, b: Option<u64>| match (a, b) {
        (None, None) => None,
        (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
    };
    let mut sum = a.clone();
    sum.input = a.input.saturating_add(b.input);
    sum.output = a.output.saturating_add(b.output);
    sum.cache_read = a.cache_read.saturating_add(b.cache_read);
    sum.cache_write = a.cache_write.saturating_add(b.cache_write);
    sum.cache_write_1h = either(a.cache_write_1h, b.cache_write_1h);
    sum.reasoning = either(a.reasoning, b.reasoning);
    sum.total_tokens = a.total_tokens.saturating_add(b.total_tokens);
    sum.cost.input += b.cost.input;
    sum.cost.output += b.cost.output;
    sum.cost.cache_read += b.cost.cache_read;
    sum.cost.cache_write += b.cost.cache_write;
    sum.cost.total += b.cost.total;
    sum.cost.total_from_provider = match (a.cost.total_from_provider, b.cost.total_from_provider) {
        (Some(a), Some(b)) => Some(a && b),
        (a, b) => a.or(b),
    };
    sum
}
