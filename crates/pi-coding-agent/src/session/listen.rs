//! What becomes of each event of the loop: the queues first, then extensions, then those who
//! listen, then the file. And where extensions are asked.

use std::sync::Arc;

use pi_agent::{
    AgentEvent, BoxFuture, Convert, EventContext, Hooks, Listener, ListenerResult, NextTurn,
    RunError, TurnDecision, hook,
};
use pi_protocol::{
    AgentMessage, Declarations, History, ImageContent, Message, MessageContent, StopReason,
    SystemMessage, UserBlock, UserContent,
};
use pi_session::{ExtensionMessage, SessionError, to_llm};

use super::{AgentSession, LoopEvent, SessionEvent, WeakAgentSession};
use crate::extension::{BoundaryEvent, Notice};

/// Changes the messages of a request.
pub(super) type RequestHook = Option<pi_agent::Hook<pi_agent::ContextView, History<AgentMessage>>>;

/// What a model reads of a message.
pub(super) fn convert(block_images: bool) -> Convert {
    if !block_images {
        return Arc::new(to_llm);
    }
    Arc::new(|message| to_llm(message).map(without_images))
}

/// The messages under another prompt. The tools that the system messages declare stay.
fn with_prompt(messages: &History<AgentMessage>, prompt: String) -> History<AgentMessage> {
    let mut declared = Declarations::default();
    let mut others = Vec::new();
    for message in messages.iter() {
        match message {
            AgentMessage::Llm(Message::System(system)) => declared.apply(system),
            other => others.push(other.clone()),
        }
    }
    let system = SystemMessage {
        content: MessageContent::Text(prompt),
        tools_added: declared.tools,
        timestamp: declared.timestamp.unwrap_or_default(),
        ..SystemMessage::default()
    };
    let first = AgentMessage::from(Message::System(Arc::new(system)));
    std::iter::once(first).chain(others).collect()
}

/// Images stay in the session; the model is told that there was one.
fn without_images(message: Message) -> Message {
    const OMITTED: &str = "[An image was here; images are blocked by the settings.]";
    let replace = |blocks: &mut Vec<UserBlock>| {
        for block in blocks {
            if matches!(block, UserBlock::Image(ImageContent { .. })) {
                *block = UserBlock::text(OMITTED);
            }
        }
    };
    match message {
        Message::User(mut user) => {
            if let MessageContent::Blocks(blocks) = &mut Arc::make_mut(&mut user).content {
                replace(blocks);
            }
            Message::User(user)
        }
        Message::ToolResult(mut result) => {
            replace(&mut Arc::make_mut(&mut result).content);
            Message::ToolResult(result)
        }
        other => other,
    }
}

/// Hears the loop on behalf of a session.
struct LoopListener(WeakAgentSession);

impl Listener for LoopListener {
    fn on_event<'a>(
        &'a self,
        event: &'a AgentEvent,
        scene: EventContext<'a>,
    ) -> BoxFuture<'a, ListenerResult> {
        Box::pin(async move {
            let Some(session) = self.0.upgrade() else { return Ok(()) };
            session.heard(event, scene).await
        })
    }
}

impl AgentSession {
    /// Takes part in the loop.
    pub(super) fn install(&self) {
        let this = self.downgrade();
        self.0.agent.add_listener(Arc::new(LoopListener(this.clone()))).forever();
        let interests = self.0.extensions.interests();
        let mut hooks = Hooks::default();
        if interests.messages {
            let this = this.clone();
            hooks.finish_message = hook(move |message: AgentMessage| {
                let this = this.clone();
                async move {
                    let Some(session) = this.upgrade() else { return Ok(None) };
                    let context = session.extension_context();
                    Ok(session.0.extensions.message_end(&message, &context).await)
                }
            });
        }
        let asked = this.clone();
        hooks.before_tool_call = hook(move |call: pi_agent::BeforeToolCall| {
            let asked = asked.clone();
            async move {
                let Some(session) = asked.upgrade() else { return Ok(Default::default()) };
                let context = session.extension_context();
                let (name, id) = (&call.tool_call.name, &call.tool_call.id);
                Ok(session.0.extensions.tool_call(name, id, &call.args, &context).await)
            }
        });
        let asked = this.clone();
        hooks.after_tool_call = hook(move |call: pi_agent::AfterToolCall| {
            let asked = asked.clone();
            async move {
                let Some(session) = asked.upgrade() else { return Ok(Default::default()) };
                let context = session.extension_context();
                let (name, id) = (&call.tool_call.name, &call.tool_call.id);
                let extensions = &session.0.extensions;
                let change = extensions
                    .tool_result(name, id, &call.args, call.result, call.is_error, &context)
                    .await;
                Ok(change.unwrap_or_default())
            }
        });
        let asked = this.clone();
        hooks.finish_turn = hook(move |turn: pi_agent::FinishedTurn| {
            let asked = asked.clone();
            async move {
                let Some(session) = asked.upgrade() else { return Ok(TurnDecision::Proceed) };
                Ok(session.turn_boundary(&turn).await)
            }
        });
        let asked = this;
        hooks.prepare_next_turn = hook(move |turn: pi_agent::FinishedTurn| {
            let asked = asked.clone();
            async move {
                let Some(session) = asked.upgrade() else { return Ok(NextTurn::default()) };
                Ok(session.next_turn(&turn).await)
            }
        });
        self.0.agent.configure(|settings| settings.hooks = hooks);
    }

    /// What becomes of the messages of each request of the coming run. Nothing, unless somebody
    /// wants it: looking at all messages costs more the more there are.
    pub(super) fn request_hook(&self) -> RequestHook {
        let forced = self.state().forced_prompt.clone();
        if forced.is_none() && !self.0.extensions.interests().context {
            return None;
        }
        let this = self.downgrade();
        hook(move |view: pi_agent::ContextView| {
            let (this, forced) = (this.clone(), forced.clone());
            async move {
                let Some(session) = this.upgrade() else { return Ok(view.messages) };
                let messages = match forced {
                    Some(prompt) => with_prompt(&view.messages, prompt),
                    None => view.messages,
                };
                let extensions = &session.0.extensions;
                if !extensions.interests().context {
                    return Ok(messages);
                }
                Ok(extensions.context(messages, &session.extension_context()).await)
            }
        })
    }

    async fn heard(&self, event: &AgentEvent, scene: EventContext<'_>) -> ListenerResult {
        if matches!(event, AgentEvent::AgentStart) && self.state().abort_requested {
            self.0.agent.abort();
        }
        if let AgentEvent::MessageStart { message } = event {
            self.delivered(message).await;
        }
        let notice = Notice::Agent { event, streaming: scene.streaming };
        self.0.extensions.notice(&notice, &self.extension_context()).await;
        let will_retry = match event {
            AgentEvent::AgentEnd { .. } => self.will_retry(),
            _ => false,
        };
        let event_for_all = LoopEvent { event, streaming: scene.streaming, will_retry };
        self.emit(&SessionEvent::Agent(event_for_all)).await;
        match event {
            AgentEvent::MessageEnd { message } => {
                self.persist(message)
                    .map_err(|error| RunError::with_source(error.to_string(), error))?;
                if let Some(answer) = message.as_assistant()
                    && answer.stop_reason != StopReason::Error
                {
                    self.retry_succeeded().await;
                }
            }
            AgentEvent::TurnEnd { .. } => {
                self.flush_at_turn_end()
                    .await
                    .map_err(|error| RunError::with_source(error.to_string(), error))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Writes a complete message to the conversation.
    fn persist(&self, message: &AgentMessage) -> Result<(), SessionError> {
        let id = self.store(message)?;
        let mut state = self.state();
        match message.role() {
            "assistant" => {
                state.last_turn_entries = vec![id];
                state.edited = false;
            }
            "toolResult" => state.last_turn_entries.push(id),
            // What the user says begins anew; see `compact`.
            "user" => state.recovery_attempted = false,
            _ => {}
        }
        Ok(())
    }

    /// Appends a message as the kind of entry it belongs in.
    pub(super) fn store(&self, message: &AgentMessage) -> Result<String, SessionError> {
        let mut entries = self.entries();
        match message.as_custom::<ExtensionMessage>() {
            Some(ExtensionMessage { custom_type, content, display, details, .. }) => {
                entries.append_custom_message(&custom_type, content, display, details)
            }
            None => entries.append_message(message.clone()),
        }
    }

    /// Extensions at the end of a turn: entries to add, and whether to go on.
    async fn turn_boundary(&self, turn: &pi_agent::FinishedTurn) -> TurnDecision {
        let outcome = match turn.message.stop_reason {
            StopReason::Aborted => "aborted",
            StopReason::Error => "error",
            _ => "completed",
        };
        let event = BoundaryEvent { message: Some(&turn.message), outcome, goes_on: false };
        let context = self.extension_context();
        let answer = self.0.extensions.boundary(&event, false, &context).await;
        self.append_drafts(answer.entries).await;
        if answer.goes_on { TurnDecision::Continue } else { TurnDecision::Proceed }
    }

    /// What the next turn of a run begins with.
    async fn next_turn(&self, turn: &pi_agent::FinishedTurn) -> NextTurn {
        let mut next = NextTurn::default();
        self.compact_between_turns(turn).await;
        if std::mem::take(&mut self.state().diverged) {
            next.change.messages = Some(self.messages());
        }
        let (model, level) = {
            let state = self.state();
            (state.model.clone(), state.thinking_level)
        };
        next.change.model = model;
        next.change.thinking_level = Some(level);
        next.change.tools = Some(self.active_tools());
        next.messages.extend(self.prompt_update());
        next
    }
}

/// The text of a user message, as it was queued.
pub(super) fn text_of(message: &AgentMessage) -> Option<String> {
    let AgentMessage::Llm(Message::User(user)) = message else { return None };
    Some(match &user.content {
        UserContent::Text(text) => text.clone(),
        UserContent::Blocks(blocks) => {
            let texts: Vec<&str> = blocks.iter().filter_map(UserBlock::as_text).collect();
            texts.join("")
        }
    })
}
