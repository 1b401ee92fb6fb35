//! The part of the log that is in the context of the model, and where the two differ.

use pi_protocol::{AgentMessage, Declarations, History};
use pi_session::compaction::CompactionAttempts;
use pi_session::{Outline, SessionError};

use super::AgentSession;

/// State that relates the log of a session to the messages of the loop.
#[derive(Debug, Default)]
pub(super) struct ContextState {
    /// Facts about the messages, until they are read from the log.
    unread: Option<Outline>,
    /// The log changed in a way that the current run does not know of.
    diverged: bool,
    /// An edit changed the context since the provider last counted its tokens.
    pub(super) edited: bool,
    pub(super) last_compaction: LastCompaction,
    /// Entries of the last turn: the answer, then the results of its calls.
    pub(super) last_turn_entries: Vec<String>,
    pub(super) attempts: CompactionAttempts,
    /// A request that did not fit was made again after a compaction.
    pub(super) recovery_attempted: bool,
}

/// Time of the last compaction of the branch.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) enum LastCompaction {
    /// The log was not searched yet.
    #[default]
    Unknown,
    Never,
    /// In milliseconds since the epoch.
    At(f64),
}

impl ContextState {
    pub(super) fn new(outline: Outline, is_empty: bool) -> Self {
        let last_compaction =
            if is_empty { LastCompaction::Never } else { LastCompaction::Unknown };
        Self { unread: Some(outline), last_compaction, ..Self::default() }
    }

    pub(super) fn is_unread(&self) -> bool {
        self.unread.is_some()
    }

    /// The messages were read from the log, in place of those that the loop had.
    pub(super) fn was_read(&mut self) {
        self.unread = None;
        self.diverged = true;
    }

    /// A message was appended to the log outside of the loop. Returns true if the loop has to be
    /// given the message.
    pub(super) fn message_appended(&mut self) -> bool {
        self.diverged = true;
        match &mut self.unread {
            Some(outline) => {
                outline.message_count += 1;
                false
            }
            None => true,
        }
    }

    /// The loop starts with the messages of the log.
    pub(super) fn synchronized(&mut self) {
        self.diverged = false;
    }

    /// Returns true if the loop has to take the messages of the log, and expects that it does.
    pub(super) fn take_diverged(&mut self) -> bool {
        std::mem::take(&mut self.diverged)
    }

    /// A compaction that began at `began` was appended.
    pub(super) fn compacted(&mut self, began: f64) {
        self.last_compaction = LastCompaction::At(began);
        self.edited = false;
        self.last_turn_entries.clear();
    }

    /// Another branch is the current one.
    pub(super) fn moved(&mut self) {
        self.last_compaction = LastCompaction::Unknown;
        self.last_turn_entries.clear();
    }

    /// Number of messages and declarations, while the messages are not read.
    pub(super) fn unread_count(&self) -> Option<usize> {
        self.unread.as_ref().map(|outline| outline.message_count)
    }

    pub(super) fn unread_declarations(&self) -> Option<Declarations> {
        self.unread.as_ref().map(|outline| outline.declared.clone())
    }
}

impl AgentSession {
    /// Returns the messages that the model reads: a snapshot, cheap once the log was read.
    pub fn messages(&self) -> History<AgentMessage> {
        if let Err(error) = self.read_log() {
            self.notify_error(format!("The session cannot be read: {error}"));
        }
        self.0.agent.messages()
    }

    /// Returns the number of messages that the model reads, without reading them.
    pub fn message_count(&self) -> usize {
        let unread = self.sync().unread_count();
        unread.unwrap_or_else(|| self.0.agent.messages().len())
    }

    /// Returns the prompt sections and tools that are declared to the model.
    pub(super) fn declared(&self) -> Declarations {
        let unread = self.sync().unread_declarations();
        unread.unwrap_or_else(|| self.0.agent.declared())
    }

    /// Reads the messages of the log, unless that was done.
    pub(super) fn read_log(&self) -> Result<(), SessionError> {
        if self.sync().is_unread() { self.refresh() } else { Ok(()) }
    }

    /// Gives the loop a message that was appended to the log outside of it.
    pub(super) fn message_appended(&self, message: AgentMessage) {
        if self.sync().message_appended() {
            self.0.agent.add_message(message);
        }
    }

    /// Gives the loop the messages of the log, after an entry changed what came before.
    pub(super) fn refresh(&self) -> Result<(), SessionError> {
        // The cached prompt is no longer the beginning of the next one.
        self.0.warmer.stop();
        let messages = self.log().context()?.messages;
        self.0.agent.set_messages(messages.iter().cloned());
        self.sync().was_read();
        Ok(())
    }
}
