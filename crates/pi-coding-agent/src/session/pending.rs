//! Messages that wait: queued prompts with their identities, and messages for a later moment.

use pi_agent::{Agent, QueuedId};
use pi_protocol::AgentMessage;

use super::StreamingBehavior;

/// Texts that wait for the loop, as the user sees them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueuedTexts {
    /// Texts that reach the model as soon as possible.
    pub steering: Vec<String>,
    /// Texts that wait for the end of the run.
    pub follow_up: Vec<String>,
}

/// Messages that wait.
#[derive(Debug, Default)]
pub(super) struct Pending {
    queued: Vec<QueuedText>,
    /// Messages that go with the next prompt.
    pub(super) next_turn: Vec<AgentMessage>,
    /// Messages that are added at the end of the turn.
    pub(super) at_turn_end: Vec<AgentMessage>,
    /// Results of shell commands that ended during a run.
    pub(super) bash: Vec<AgentMessage>,
}

#[derive(Debug)]
struct QueuedText {
    id: QueuedId,
    behavior: StreamingBehavior,
    text: String,
}

impl Pending {
    /// Queues a prompt of the user. Called under the lock of `self`, so that the loop cannot
    /// deliver the message before its text is known.
    pub(super) fn enqueue(
        &mut self,
        agent: &Agent,
        message: AgentMessage,
        text: String,
        behavior: StreamingBehavior,
    ) {
        let id = match behavior {
            StreamingBehavior::Steer => agent.steer(message),
            StreamingBehavior::FollowUp => agent.follow_up(message),
        };
        self.queued.push(QueuedText { id, behavior, text });
    }

    /// Removes a message that the loop delivers. Returns false if it has no text here.
    pub(super) fn delivered(&mut self, id: QueuedId) -> bool {
        let before = self.queued.len();
        self.queued.retain(|queued| queued.id != id);
        self.queued.len() != before
    }

    /// Empties the queues and returns what was in them.
    pub(super) fn clear(&mut self, agent: &Agent) -> QueuedTexts {
        let texts = self.texts();
        agent.clear_queues();
        self.queued.clear();
        texts
    }

    pub(super) fn texts(&self) -> QueuedTexts {
        let of = |behavior: StreamingBehavior| {
            let matching = self.queued.iter().filter(move |queued| queued.behavior == behavior);
            matching.map(|queued| queued.text.clone()).collect()
        };
        QueuedTexts {
            steering: of(StreamingBehavior::Steer),
            follow_up: of(StreamingBehavior::FollowUp),
        }
    }

    /// Returns the number of queued prompts.
    pub(super) fn len(&self) -> usize {
        self.queued.len()
    }
}
