//! Prompts and messages that are added during a run.

use pi_agent::QueuedId;
use pi_protocol::{AgentMessage, ImageContent, Message, UserBlock};
use pi_session::{ExtensionMessage, SessionError};

use super::prompt::{Disposition, PromptError, custom_message};
use super::{AgentSession, QueuedTexts, SessionEvent};
use crate::extension::{Input, InputAction, InputSource, StreamingBehavior};

/// Time at which a message of an extension reaches the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delivery {
    /// As soon as possible in the run.
    #[default]
    Steer,
    /// At the end of the run.
    FollowUp,
    /// At the end of the turn, without another request for it.
    TurnEnd,
    /// With the next prompt.
    NextTurn,
}

impl AgentSession {
    /// Queues a prompt that reaches the model as soon as possible in the run.
    pub async fn steer(
        &self,
        text: &str,
        images: Vec<ImageContent>,
        source: InputSource,
    ) -> Result<Disposition, PromptError> {
        self.queue_input(text, images, source, StreamingBehavior::Steer).await
    }

    /// Queues a prompt that waits for the end of the run.
    pub async fn follow_up(
        &self,
        text: &str,
        images: Vec<ImageContent>,
        source: InputSource,
    ) -> Result<Disposition, PromptError> {
        self.queue_input(text, images, source, StreamingBehavior::FollowUp).await
    }

    async fn queue_input(
        &self,
        text: &str,
        images: Vec<ImageContent>,
        source: InputSource,
        behavior: StreamingBehavior,
    ) -> Result<Disposition, PromptError> {
        if let Some(name) = self.extension_command(text) {
            return Err(PromptError::CommandQueued(name.to_owned()));
        }
        let asked = self.ask(Input::new(text.to_owned(), images, source, None)).await;
        if asked.answer.is_ok_and(|action| action == InputAction::Handled) {
            return Ok(Disposition::Handled);
        }
        let Input { text, images, .. } = asked.question;
        let text = self.expanded(text)?;
        let (text, context) = self.admit_prompt(text, source).await?;
        self.enqueue(text, images, context, behavior).await?;
        Ok(Disposition::Queued)
    }

    pub(super) async fn enqueue(
        &self,
        text: String,
        images: Vec<ImageContent>,
        context: Vec<ExtensionMessage>,
        behavior: StreamingBehavior,
    ) -> Result<(), PromptError> {
        let message = user_message(text.clone(), images);
        self.pending().enqueue(&self.0.agent, message, text, behavior);
        for message in context {
            let message = custom_message(message)?;
            match behavior {
                StreamingBehavior::Steer => self.0.agent.steer(message),
                StreamingBehavior::FollowUp => self.0.agent.follow_up(message),
            };
        }
        self.queue_changed().await;
        Ok(())
    }

    /// Empties the queues and returns what was in them.
    pub async fn clear_queue(&self) -> QueuedTexts {
        let texts = self.pending().clear(&self.0.agent);
        self.queue_changed().await;
        texts
    }

    /// Removes all queued messages, as a session that is opened anew has none.
    pub(crate) fn drop_queued(&self) {
        let mut pending = self.pending();
        pending.clear(&self.0.agent);
        pending.next_turn.clear();
    }

    /// Returns the texts that are queued.
    pub fn queued(&self) -> QueuedTexts {
        self.pending().texts()
    }

    /// Returns the number of prompts that are queued.
    pub fn queued_count(&self) -> usize {
        self.pending().len()
    }

    async fn queue_changed(&self) {
        let QueuedTexts { steering, follow_up } = self.queued();
        self.emit(SessionEvent::QueueUpdate { steering, follow_up }).await;
    }

    /// Removes a message from the queues that the loop delivers.
    pub(super) async fn delivered(&self, id: QueuedId) {
        let removed = self.pending().delivered(id);
        if removed {
            self.queue_changed().await;
        }
    }

    /// Adds a message of an extension. Without a run it is appended at once and starts none
    /// ([`AgentSession::start_with`] does); during a run, `delivery` decides.
    pub async fn add_message(
        &self,
        message: ExtensionMessage,
        delivery: Delivery,
    ) -> Result<(), SessionError> {
        let message = custom_message(message)?;
        if delivery == Delivery::NextTurn {
            self.pending().next_turn.push(message);
            return Ok(());
        }
        if !self.is_streaming() {
            return self.append_now(message).await;
        }
        match delivery {
            Delivery::TurnEnd => self.pending().at_turn_end.push(message),
            Delivery::FollowUp => drop(self.0.agent.follow_up(message)),
            Delivery::Steer | Delivery::NextTurn => drop(self.0.agent.steer(message)),
        }
        Ok(())
    }

    /// Appends the messages that waited for the end of the turn.
    pub(super) async fn flush_at_turn_end(&self) -> Result<(), SessionError> {
        let waiting = std::mem::take(&mut self.pending().at_turn_end);
        for message in waiting {
            self.append_now(message).await?;
        }
        Ok(())
    }

    /// Appends a message outside of the loop, with the events of a message.
    pub(super) async fn append_now(&self, message: AgentMessage) -> Result<(), SessionError> {
        self.emit(SessionEvent::MessageStart { message: message.clone() }).await;
        self.emit(SessionEvent::MessageEnd { message: message.clone() }).await;
        self.store(&message)?;
        self.message_appended(message);
        Ok(())
    }
}

/// Makes a message of the user: text first, then images.
pub(super) fn user_message(text: String, images: Vec<ImageContent>) -> AgentMessage {
    let mut blocks = vec![UserBlock::text(text)];
    blocks.extend(images.into_iter().map(UserBlock::Image));
    Message::user_blocks(blocks).into()
}
