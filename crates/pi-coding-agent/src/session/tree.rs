//! Navigation in the session tree, names and labels.

use std::sync::Arc;

use pi_protocol::{
    AgentMessage, AssistantMessage, BranchSummary, CancelToken, Entry, EntryBody, Message,
    StopReason,
};
use pi_session::compaction::{BranchInstructions, SummaryError, summarize_branch};
use pi_session::{SessionError, text_of};

use super::{AgentSession, SessionEvent};
use crate::extension::BeforeTree;

/// Options of a move in the session tree.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Navigation {
    /// Summarizes the branch that is left.
    pub summarize: bool,
    /// Instructions for the summary.
    pub instructions: Option<String>,
    /// The instructions replace the standard ones.
    pub replace_instructions: bool,
    /// Label for the place of arrival.
    pub label: Option<String>,
}

/// Result of a move in the session tree.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct NavigationResult {
    /// Text of the message before which the session continues, for the editor.
    pub text: Option<String>,
    /// An extension or the user cancelled the move.
    pub cancelled: bool,
    /// Summary of the branch that was left.
    pub summary: Option<Arc<Entry>>,
}

/// Reasons why navigation in the session tree can fail.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NavigationError {
    /// A run or a compaction is in progress.
    #[error("Cannot navigate while the session is busy. Wait for the run to end or abort it.")]
    Busy,
    /// The summary could not be written.
    #[error(transparent)]
    Summary(#[from] pi_session::compaction::SummaryError),
    /// No model is selected that could write the summary.
    #[error("No model selected to summarize the branch")]
    NoModel,
    /// The log cannot be read or written.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// A message of the user, as a place to fork from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UserMessageInfo {
    /// Entry of the message.
    pub entry_id: String,
    /// Text of the message.
    pub text: String,
}

/// The parts that are kept of the branch that is left.
#[derive(Default)]
struct Departure {
    summary: Option<BranchSummary>,
    label: Option<String>,
    from_extension: bool,
}

impl Navigation {
    /// Summarizes the branch that is left.
    #[must_use]
    pub fn summarize(mut self, summarize: bool) -> Self {
        self.summarize = summarize;
        self
    }

    /// Sets instructions for the summary.
    #[must_use]
    pub fn instructions(mut self, instructions: Option<String>) -> Self {
        self.instructions = instructions;
        self
    }

    /// Sets the label for the place of arrival.
    #[must_use]
    pub fn label(mut self, label: Option<String>) -> Self {
        self.label = label;
        self
    }
}

impl AgentSession {
    /// Moves to an entry. A message of the user is left out, and its text is returned.
    pub async fn navigate(
        &self,
        target: &str,
        options: Navigation,
    ) -> Result<NavigationResult, NavigationError> {
        if self.is_streaming() {
            return Err(NavigationError::Busy);
        }
        let (old_leaf_id, left, destination, text) = {
            let log = self.log();
            let old_leaf_id = log.leaf_id().map(str::to_owned);
            let entry = log.entry(target)?;
            let text = editable_text(&entry);
            let destination = match text {
                Some(_) => log.parent_id(target).map(str::to_owned),
                None => Some(target.to_owned()),
            };
            let left = log.abandoned_entries(destination.as_deref())?;
            (old_leaf_id, left, destination, text)
        };
        if old_leaf_id.as_deref() == Some(target) && text.is_none() {
            return Ok(NavigationResult::default());
        }
        let departure = {
            let summary = self.0.activity.begin_summary().ok_or(NavigationError::Busy)?;
            let cancel = summary.cancel.clone();
            self.leave(target, old_leaf_id.as_deref(), left, &options, &cancel).await?
        };
        let Some(departure) = departure else {
            return Ok(NavigationResult { cancelled: true, ..NavigationResult::default() });
        };
        let from_extension = departure.summary.is_some().then_some(departure.from_extension);
        let summary = self.arrive(destination.as_deref(), departure.summary)?.map(Arc::new);
        if let Some(label) = departure.label.or(options.label) {
            let at = summary.as_ref().map_or(target, |entry| &entry.id).to_owned();
            self.log().append_label(&at, Some(&label))?;
        }
        self.refresh()?;
        self.restore_tools(&[]);
        self.sync().moved();
        let new_leaf_id = self.log().leaf_id().map(str::to_owned);
        self.emit(SessionEvent::SessionTree {
            new_leaf_id,
            old_leaf_id,
            summary_entry: summary.clone(),
            from_extension,
        })
        .await;
        Ok(NavigationResult { text, cancelled: false, summary })
    }

    /// Returns what is kept of the branch that is left; `None` if the move was cancelled.
    async fn leave(
        &self,
        target: &str,
        old_leaf_id: Option<&str>,
        left: Vec<Entry>,
        options: &Navigation,
        cancel: &CancelToken,
    ) -> Result<Option<Departure>, NavigationError> {
        let mut question = BeforeTree::new(target, cancel);
        question.old_leaf_id = old_leaf_id.map(str::to_owned);
        question.common_ancestor_id = match left.first() {
            Some(first) => self.log().parent_id(&first.id).map(str::to_owned),
            None => question.old_leaf_id.clone(),
        };
        question.entries_to_summarize = left.into();
        question.wants_summary = options.summarize;
        question.instructions.clone_from(&options.instructions);
        question.replace_instructions = options.replace_instructions;
        question.label.clone_from(&options.label);
        let asked = self.ask(question).await;
        let (left, decision) =
            (asked.question.entries_to_summarize, asked.answer.unwrap_or_default());
        if decision.cancel {
            return Ok(None);
        }
        let mut departure = Departure { label: decision.label, ..Departure::default() };
        if let Some(text) = decision.summary {
            departure.from_extension = true;
            departure.summary = Some(BranchSummary {
                summary: text.summary,
                details: text.details,
                usage: text.usage,
                from_hook: Some(true),
                ..BranchSummary::default()
            });
            return Ok(Some(departure));
        }
        if !options.summarize || left.is_empty() {
            return Ok(Some(departure));
        }
        let model = self.summary_model().ok_or(NavigationError::NoModel)?;
        let settings = self.settings().branch_summary;
        let provider = self.retrying_provider(None);
        let summarizer = self.summarizer(&provider, model, cancel);
        let replace = decision.replace_instructions.unwrap_or(options.replace_instructions);
        let wanted = decision.instructions.as_deref().or(options.instructions.as_deref());
        let instructions = match wanted {
            None => BranchInstructions::Standard,
            Some(text) if replace => BranchInstructions::Replace(text),
            Some(text) => BranchInstructions::Focus(text),
        };
        match summarize_branch(&summarizer, &left, &settings, instructions).await {
            Err(SummaryError::Aborted { .. }) => Ok(None),
            Err(error) => Err(error.into()),
            Ok(summary) => {
                departure.summary = Some(BranchSummary { from_hook: Some(false), ..summary });
                Ok(Some(departure))
            }
        }
    }

    fn arrive(
        &self,
        destination: Option<&str>,
        summary: Option<BranchSummary>,
    ) -> Result<Option<Entry>, SessionError> {
        let mut log = self.log();
        match (summary, destination) {
            (Some(summary), destination) => {
                let id = log.branch_with_summary(destination, summary)?;
                log.entry(&id).map(Some)
            }
            (None, Some(destination)) => log.branch(destination).map(|()| None),
            (None, None) => {
                log.reset();
                Ok(None)
            }
        }
    }

    /// Cancels the summary of a branch.
    pub fn abort_branch_summary(&self) {
        self.abort_compaction();
    }

    /// Names the session.
    pub async fn set_name(&self, name: &str) -> Result<(), SessionError> {
        self.log().append_name(name)?;
        let name = self.name();
        self.emit(SessionEvent::SessionInfoChanged { name }).await;
        Ok(())
    }

    /// Labels an entry; `None` removes its label.
    pub fn set_label(&self, entry: &str, label: Option<&str>) -> Result<String, SessionError> {
        self.log().append_label(entry, label)
    }

    /// Returns the text of the last answer, without surrounding white space; `None` if that answer
    /// has no text. An answer that was aborted before it began does not count.
    pub fn last_assistant_text(&self) -> Option<String> {
        let messages = self.messages();
        let begun = |answer: &&Arc<AssistantMessage>| {
            answer.stop_reason != StopReason::Aborted || !answer.content.is_empty()
        };
        let last = messages.iter().rev().filter_map(AgentMessage::as_assistant).find(begun)?;
        Some(last.text().trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// Returns the messages of the user on all branches.
    pub fn user_messages(&self) -> Result<Vec<UserMessageInfo>, SessionError> {
        let log = self.log();
        let mut messages = Vec::new();
        for entry in log.entries() {
            let entry = match entry {
                Err(SessionError::Damaged { .. }) => continue,
                entry => entry?,
            };
            if let EntryBody::Message(AgentMessage::Llm(Message::User(user))) = &entry.body {
                let text = text_of(&user.content);
                if !text.is_empty() {
                    messages.push(UserMessageInfo { entry_id: entry.id, text });
                }
            }
        }
        Ok(messages)
    }
}

/// Returns the text of an entry that the user edits after moving back to it.
fn editable_text(entry: &Entry) -> Option<String> {
    match &entry.body {
        EntryBody::Message(AgentMessage::Llm(Message::User(user))) => Some(text_of(&user.content)),
        EntryBody::CustomMessage(message) => Some(text_of(&message.content)),
        _ => None,
    }
}
