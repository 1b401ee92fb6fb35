//! Requests for summaries, and rejection of answers that are none.
//!
//! A summary replaces history, so half of one must never be stored: an answer that was cut off,
//! that calls a tool or that is empty is an error.

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
    /// The token that cancels the requests.
    pub cancel: CancelToken,
    /// Key, headers and other options. Caching is always off, since no two requests share a prefix.
    pub options: StreamOptions,
    /// The effects of tool calls, from which files and open errors are known.
    pub effects: EffectsResolver,
}

/// A text that a model wrote, and its usage.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs)] // The fields are named in the comment on the type.
pub struct SummaryText {
    pub text: String,
    pub usage: Usage,
}

/// A failed request for a summary. `task` names the kind of summary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // The fields are explained in the comment on the type.
pub enum SummaryError {
    /// The request was cancelled.
    #[error("{task} was aborted")]
    Aborted { task: &'static str },
    /// The provider reported an error.
    #[error("{task} failed: {reason}")]
    Failed { task: &'static str, reason: String },
    /// The output limit was reached before the end of the summary.
    #[error("{task} failed: the token limit cut the summary short")]
    Incomplete { task: &'static str },
    /// The model called a tool instead of writing a summary.
    #[error("{task} attempted to call a tool")]
    CalledTool { task: &'static str },
    /// The answer has no text.
    #[error("{task} failed: the model returned no text")]
    Empty { task: &'static str },
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

    /// Sends one request to the model. `task` names the kind of summary in errors.
    pub async fn ask(
        &self,
        task: &'static str,
        user_text: String,
    ) -> Result<SummaryText, SummaryError> {
        let context =
            Context::new().system(prompts::SYSTEM).user_blocks(vec![UserBlock::text(user_text)]);
        let request = Request::new(Arc::clone(&self.model), context, self.request_options());
        let answer = complete(self.provider, request, self.cancel.clone()).await;
        match &answer.stop_reason {
            StopReason::Aborted => return Err(SummaryError::Aborted { task }),
            StopReason::Error => {
                let reason = answer.error_message.clone();
                let reason = reason.unwrap_or_else(|| "Unknown error".to_owned());
                return Err(SummaryError::Failed { task, reason });
            }
            StopReason::Length => return Err(SummaryError::Incomplete { task }),
            _ => {}
        }
        if answer.tool_calls().next().is_some() {
            return Err(SummaryError::CalledTool { task });
        }
        let texts: Vec<&str> = answer.content.iter().filter_map(AssistantBlock::as_text).collect();
        let text = texts.join("\n");
        if text.trim().is_empty() {
            return Err(SummaryError::Empty { task });
        }
        Ok(SummaryText { text, usage: answer.usage.clone() })
    }

    /// Summarizes what a compaction replaces: the history, then the beginning of a split turn. The
    /// result does not contain the file lists.
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
        summary.usage += &prefix.usage;
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
            usage += &summary.usage;
            text.clone_from(&summary.text);
            so_far = Some(summary.text);
        }
        Ok(SummaryText { text, usage })
    }

    /// Shortens a record that is sent in one request to the room that `other` leaves.
    pub(super) fn fit(&self, record: &str, other: &str) -> String {
        room::fit(record, room::room(&self.model, other))
    }

    fn request_options(&self) -> StreamOptions {
        let mut options = self.options.clone();
        options.cache_retention = Some(CacheRetention::None);
        options.session_id.get_or_insert_with(|| uuid::Uuid::now_v7().to_string());
        options.reasoning = None;
        if self.model.reasoning {
            options.reasoning = self.thinking_level.filter(|level| *level != ThinkingLevel::Off);
        }
        options
    }
}

/// Writes messages as the text that the summarizing model reads.
pub(super) fn record(messages: &[AgentMessage]) -> String {
    let messages: Vec<Message> = messages.iter().filter_map(to_llm).collect();
    serialize_conversation(&messages)
}
