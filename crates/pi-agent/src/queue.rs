//! Queues of messages that wait for the next turn or for the end of the run.

use std::collections::VecDeque;

use pi_protocol::AgentMessage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The number of queued messages that are delivered at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueueMode {
    /// Only the oldest message.
    #[default]
    OneAtATime,
    /// All messages of the queue.
    All,
}

/// The identity of a queued message, unique within its agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueuedId(pub(crate) u64);

/// The two queues of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueueKind {
    Steering,
    FollowUp,
}

/// The queue that a message came from, and its identity.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin {
    pub(crate) queue: QueueKind,
    pub(crate) id: QueuedId,
}

/// A message that is about to be added to a transcript.
#[derive(Debug, Clone)]
pub(crate) struct Incoming {
    pub(crate) message: AgentMessage,
    /// `None` if the message was not queued.
    pub(crate) origin: Option<Origin>,
}

impl Incoming {
    /// Returns the identity of a message that was queued.
    pub(crate) fn queued(&self) -> Option<QueuedId> {
        self.origin.map(|origin| origin.id)
    }
}

impl From<AgentMessage> for Incoming {
    fn from(message: AgentMessage) -> Self {
        Self { message, origin: None }
    }
}

/// A queue of messages.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pub(crate) mode: QueueMode,
    messages: VecDeque<Incoming>,
}

impl Queue {
    pub(crate) fn push(&mut self, message: Incoming) {
        self.messages.push_back(message);
    }

    /// Puts a message that was taken back to the front.
    pub(crate) fn put_back(&mut self, message: Incoming) {
        self.messages.push_front(message);
    }

    /// Takes the messages that are due, as the mode says.
    pub(crate) fn take(&mut self) -> Vec<Incoming> {
        match self.mode {
            QueueMode::OneAtATime => self.messages.pop_front().into_iter().collect(),
            QueueMode::All => self.messages.drain(..).collect(),
        }
    }

    /// Returns the messages that [`Self::take`] would take.
    pub(crate) fn peek(&self) -> Vec<AgentMessage> {
        let due = match self.mode {
            QueueMode::OneAtATime => 1,
            QueueMode::All => self.messages.len(),
        };
        self.messages.iter().take(due).map(|queued| queued.message.clone()).collect()
    }

    /// Removes a message. Returns false if it is not in this queue.
    pub(crate) fn remove(&mut self, id: QueuedId) -> bool {
        let position = self.messages.iter().position(|queued| queued.queued() == Some(id));
        position.and_then(|position| self.messages.remove(position)).is_some()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.messages.clear();
    }
}
