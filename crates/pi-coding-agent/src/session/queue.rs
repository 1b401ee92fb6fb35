//! Messages that wait: what the user sees of the loop's queues.

use pi_protocol::{AgentMessage, ImageContent, Message, UserBlock, now_ms};
use pi_session::{ExtensionMessage, SessionError};

use super::listen::text_of;
use super::prompt::{Disposition, PromptError, StreamingBehavior};
use super::{AgentSession, SessionNews};

/// When a message of an extension reaches the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Delivery {
    /// As soon as possible.
    #[default]
    Steer,
    /// When the run would end.
    FollowUp,
    /// With the next prompt.
    NextTurn,
}

impl AgentSession {
    /// Queues something for as soon as possible in the run.
    pub async fn steer(
        &self,
        text: &str,
        images: Vec<ImageContent>,
        source: &str,
    ) -> Result<Disposition, PromptError> {
        self.queue_input(text, images, source, StreamingBehavior::Steer).await
    }

    /// Queues something for when the run would end.
    pub async fn follow_up(
        &self,
        text: &str,
        images: Vec<ImageContent>,
        source: &str,
    ) -> Result<Disposition, PromptError> {
        self.queue_input(text, images, source, StreamingBehavior::FollowUp).await
    }

    async fn queue_input(
        &self,
        text: &str,
        images: Vec<ImageContent>,
        source: &str,
        behavior: StreamingBehavior,
    ) -> Result<Disposition, PromptError> {
        if let Some(name) = self.extension_command(text) {
            return Err(PromptError::CommandQueued(name.to_owned()));
        }
        let context = self.extension_context();
        let input = self.0.extensions.input(text.to_owned(), images, source, None, &context);
        let Some((text, images)) = input.await else { return Ok(Disposition::Handled) };
        let text = self.expanded(text)?;
        self.enqueue(text, images, behavior).await;
        Ok(Disposition::Queued)
    }

    pub(super) async fn enqueue(
        &self,
        text: String,
        images: Vec<ImageContent>,
        behavior: StreamingBehavior,
    ) {
        let message = user_message(text.clone(), images);
        match behavior {
            StreamingBehavior::Steer => {
                self.state().steering.push(text);
                self.0.agent.steer(message);
            }
            StreamingBehavior::FollowUp => {
                self.state().follow_ups.push(text);
                self.0.agent.follow_up(message);
            }
        }
        self.queue_changed().await;
    }

    /// Empties the queues and returns what was in them: steering, then follow-ups.
    pub async fn clear_queue(&self) -> (Vec<String>, Vec<String>) {
        self.0.agent.clear_queues();
        let queues = {
            let mut state = self.state();
            (std::mem::take(&mut state.steering), std::mem::take(&mut state.follow_ups))
        };
        self.queue_changed().await;
        queues
    }

    /// What waits: steering, then follow-ups.
    pub fn queued(&self) -> (Vec<String>, Vec<String>) {
        let state = self.state();
        (state.steering.clone(), state.follow_ups.clone())
    }

    async fn queue_changed(&self) {
        let (steering, follow_up) = self.queued();
        let news = SessionNews::QueueUpdate { steering: &steering, follow_up: &follow_up };
        self.news(news).await;
    }

    /// A message has begun: if it was queued, it no longer is.
    pub(super) async fn delivered(&self, message: &AgentMessage) {
        let Some(text) = text_of(message) else { return };
        let removed = {
            let mut state = self.state();
            let state = &mut *state;
            [&mut state.steering, &mut state.follow_ups].into_iter().any(|queue| {
                let at = queue.iter().position(|queued| *queued == text);
                at.map(|at| queue.remove(at)).is_some()
            })
        };
        if removed {
            self.queue_changed().await;
        }
    }

    /// Adds a message of an extension to the conversation. During a run it is queued, unless
    /// `triggers` is `Some(false)`: then it waits for the end of the turn. Without a run it is
    /// added at once; whether a run begins is for the caller ([`AgentSession::start_with`]).
    pub async fn add_message(
        &self,
        message: &ExtensionMessage,
        delivery: Option<Delivery>,
        triggers: Option<bool>,
    ) -> Result<(), SessionError> {
        let message = ExtensionMessage { timestamp: now_ms(), ..message.clone() };
        let message = AgentMessage::custom(&message).map_err(SessionError::from)?;
        if delivery == Some(Delivery::NextTurn) {
            self.state().next_turn.push(message);
            return Ok(());
        }
        if !self.is_streaming() {
            return self.append_now(message).await;
        }
        match (triggers, delivery) {
            (Some(false), _) => self.state().at_turn_end.push(message),
            (_, Some(Delivery::FollowUp)) => {
                self.0.agent.follow_up(message);
            }
            _ => {
                self.0.agent.steer(message);
            }
        }
        Ok(())
    }

    /// Adds what waited for the end of the turn.
    pub(super) async fn flush_at_turn_end(&self) -> Result<(), SessionError> {
        let waiting = std::mem::take(&mut self.state().at_turn_end);
        for message in waiting {
            self.append_now(message).await?;
        }
        Ok(())
    }

    /// Adds a message outside of the loop, with the events that it would have caused.
    pub(super) async fn append_now(&self, message: AgentMessage) -> Result<(), SessionError> {
        use pi_agent::AgentEvent::{MessageEnd, MessageStart};
        for event in
            [MessageStart { message: message.clone() }, MessageEnd { message: message.clone() }]
        {
            let event = super::LoopEvent { event: &event, streaming: None, will_retry: false };
            self.emit(&super::SessionEvent::Agent(event)).await;
        }
        self.store(&message)?;
        self.added(message);
        Ok(())
    }
}

/// A message of the user: text first, then images.
pub(super) fn user_message(text: String, images: Vec<ImageContent>) -> AgentMessage {
    let mut blocks = vec![UserBlock::text(text)];
    blocks.extend(images.into_iter().map(UserBlock::Image));
    Message::user_blocks(blocks).into()
}
