//! Messages that wait for their turn.

use std::collections::VecDeque;

use pi_protocol::AgentMessage;

/// How many waiting messages are taken at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum QueueMode {
    /// The oldest one.
    #[default]
    OneAtATime,
    /// All of them.
    All,
}

/// A queue of messages.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pub(crate) mode: QueueMode,
    messages: VecDeque<AgentMessage>,
}

impl Queue {
    pub(crate) fn push(&mut self, message: AgentMessage) {
        self.messages.push_back(message);
    }

    /// Puts messages back where they were taken from.
    pub(crate) fn put_back(&mut self, messages: Vec<AgentMessage>) {
        for message in messages.into_iter().rev() {
            self.messages.push_front(message);
        }
    }

    pub(crate) fn drain(&mut self) -> Vec<AgentMessage> {
        match self.mode {
            QueueMode::OneAtATime => self.messages.pop_front().into_iter().collect(),
            QueueMode::All => self.messages.drain(..).collect(),
        }
    }

    /// What [`Self::drain`] would take.
    pub(crate) fn peek(&self) -> Vec<AgentMessage> {
        match self.mode {
            QueueMode::OneAtATime => self.messages.front().cloned().into_iter().collect(),
            QueueMode::All => self.messages.iter().cloned().collect(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.messages.clear();
    }
}
