//! Going elsewhere in the conversation, naming it, labelling its entries.

use pi_protocol::{AgentMessage, BranchSummary, CancelToken, Entry, EntryBody, Message};
use pi_session::compaction::{BranchInstructions, summarize_branch};
use pi_session::{SessionError, text_of};

use super::{AgentSession, SessionNews};
use crate::extension::{BeforeTree, Notice};

/// Where to go, and what to keep of where one was.
#[derive(Debug, Clone, Default)]
pub struct Navigation {
    /// The branch that is left is summarised.
    pub summarize: bool,
    /// What the summary should care about.
    pub instructions: Option<String>,
    /// The instructions take the place of the usual ones.
    pub replace_instructions: bool,
    /// A label for where the user goes.
    pub label: Option<String>,
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NavigationResult {
    /// The text of the message one went back to, to be written anew.
    pub text: Option<String>,
    /// An extension or the user stopped it.
    pub cancelled: bool,
    /// What was written about the branch that was left.
    pub summary: Option<Entry>,
}

/// Why one stays where one is.
#[derive(Debug, thiserror::Error)]
pub enum NavigationError {
    /// A run is going on.
    #[error("Wait for the run to end, or abort it, before going elsewhere in the conversation.")]
    Busy,
    /// The summary could not be written.
    #[error(transparent)]
    Summary(#[from] pi_session::compaction::SummaryError),
    /// There is no model to write the summary.
    #[error("No model selected to summarise the branch that is left")]
    NoModel,
    /// The conversation cannot be read or written.
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl AgentSession {
    /// Goes to an entry. To a message of the user: before it, and its text is returned.
    pub async fn navigate(
        &self,
        target: &str,
        options: Navigation,
    ) -> Result<NavigationResult, NavigationError> {
        if self.is_streaming() {
            return Err(NavigationError::Busy);
        }
        let (old_leaf, left, destination, text) = {
            let entries = self.entries();
            let old_leaf = entries.leaf_id().map(str::to_owned);
            let entry = entries.entry(target)?;
            let text = rewritable(&entry);
            let destination = match text {
                Some(_) => entries.parent_id(target).map(str::to_owned),
                None => Some(target.to_owned()),
            };
            let left = entries.abandoned_entries(destination.as_deref())?;
            (old_leaf, left, destination, text)
        };
        if old_leaf.as_deref() == Some(target) && text.is_none() {
            return Ok(NavigationResult::default());
        }
        let cancel = CancelToken::new();
        self.state().compaction = Some(cancel.clone());
        self.update_busy();
        let summary = self.leave(target, old_leaf.as_deref(), &left, &options, &cancel).await;
        self.state().compaction = None;
        self.update_busy();
        let Some((summary, label)) = summary? else {
            return Ok(NavigationResult { cancelled: true, ..NavigationResult::default() });
        };
        let summary = self.arrive(destination.as_deref(), summary)?;
        if let Some(label) = label.or(options.label) {
            let at = summary.as_ref().map_or(target, |entry| &entry.id).to_owned();
            self.entries().append_label(&at, Some(&label))?;
        }
        self.refresh()?;
        self.restore_tools();
        {
            let mut state = self.state();
            state.compacted_at = None;
            state.last_turn_entries.clear();
        }
        let new_leaf = self.entries().leaf_id().map(str::to_owned);
        let notice = Notice::SessionTree {
            new_leaf: new_leaf.as_deref(),
            old_leaf: old_leaf.as_deref(),
            summary: summary.as_ref(),
        };
        self.0.extensions.notice(&notice, &self.extension_context()).await;
        Ok(NavigationResult { text, cancelled: false, summary })
    }

    /// What to keep of the branch that is left, and a label; `None` to stay.
    async fn leave(
        &self,
        target: &str,
        old_leaf: Option<&str>,
        left: &[Entry],
        options: &Navigation,
        cancel: &CancelToken,
    ) -> Result<Option<(Option<BranchSummary>, Option<String>)>, NavigationError> {
        let event = BeforeTree {
            target,
            old_leaf,
            left,
            wants_summary: options.summarize,
            instructions: options.instructions.as_deref(),
            cancel,
        };
        let context = self.extension_context();
        let answer = self.0.extensions.before_tree(&event, &context).await;
        if answer.cancel {
            return Ok(None);
        }
        if let Some((summary, details)) = answer.summary {
            let summary = BranchSummary {
                summary,
                details,
                from_hook: Some(true),
                ..BranchSummary::default()
            };
            return Ok(Some((Some(summary), answer.label)));
        }
        if !options.summarize || left.is_empty() {
            return Ok(Some((None, answer.label)));
        }
        let model = self.model().ok_or(NavigationError::NoModel)?;
        let settings = self.settings().branch_summary;
        let patient = self.patient(None);
        let summarizer = self.summarizer(&patient, model, cancel);
        let wanted = answer.instructions.as_deref().or(options.instructions.as_deref());
        let instructions = match wanted {
            None => BranchInstructions::Standard,
            Some(text) if options.replace_instructions => BranchInstructions::Replace(text),
            Some(text) => BranchInstructions::Focus(text),
        };
        let written = summarize_branch(&summarizer, left, &settings, instructions).await;
        let written = match written {
            Err(pi_session::compaction::SummaryError::Aborted { .. }) => return Ok(None),
            written => written?,
        };
        Ok(Some((Some(written), answer.label)))
    }

    fn arrive(
        &self,
        destination: Option<&str>,
        summary: Option<BranchSummary>,
    ) -> Result<Option<Entry>, SessionError> {
        let mut entries = self.entries();
        match (summary, destination) {
            (Some(summary), destination) => {
                let id = entries.branch_with_summary(destination, summary)?;
                entries.entry(&id).map(Some)
            }
            (None, Some(destination)) => entries.branch(destination).map(|()| None),
            (None, None) => {
                entries.reset();
                Ok(None)
            }
        }
    }

    /// Stops the summary of a branch.
    pub fn abort_branch_summary(&self) {
        self.abort_compaction();
    }

    /// Names the conversation.
    pub async fn set_name(&self, name: &str) -> Result<(), SessionError> {
        self.entries().append_name(name)?;
        let name = self.name();
        self.news(SessionNews::SessionInfoChanged { name: name.as_deref() }).await;
        let notice = Notice::SessionInfoChanged { name: name.as_deref() };
        self.0.extensions.notice(&notice, &self.extension_context()).await;
        Ok(())
    }

    /// Labels an entry; `None` removes its label.
    pub fn set_label(&self, entry: &str, label: Option<&str>) -> Result<String, SessionError> {
        self.entries().append_label(entry, label)
    }

    /// The text of the last answer that has one.
    pub fn last_assistant_text(&self) -> Option<String> {
        let messages = self.messages();
        let texts = messages.iter().rev().filter_map(AgentMessage::as_assistant);
        texts.map(|answer| answer.text()).find(|text| !text.trim().is_empty())
    }

    /// The messages of the user on all branches: entry and text.
    pub fn user_messages(&self) -> Result<Vec<(String, String)>, SessionError> {
        let entries = self.entries();
        let mut messages = Vec::new();
        for entry in entries.entries() {
            let entry = match entry {
                Err(SessionError::Damaged { .. }) => continue,
                entry => entry?,
            };
            if let EntryBody::Message(AgentMessage::Llm(Message::User(user))) = &entry.body {
                let text = text_of(&user.content);
                if !text.is_empty() {
                    messages.push((entry.id, text));
                }
            }
        }
        Ok(messages)
    }
}

/// The text of an entry that is written anew when one goes back to it.
fn rewritable(entry: &Entry) -> Option<String> {
    match &entry.body {
        EntryBody::Message(AgentMessage::Llm(Message::User(user))) => Some(text_of(&user.content)),
        EntryBody::CustomMessage(message) => Some(text_of(&message.content)),
        _ => None,
    }
}
