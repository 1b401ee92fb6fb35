//! Events of the loop on their way: queues first, then extensions, then subscribers, then the log.
//! The hooks of the loop, in which extensions are asked, are here, too.

use std::sync::Arc;

use pi_agent::{
    AfterToolCall, AgentEvent, BeforeToolCall, BoxFuture, Convert, EventContext, FinishedTurn,
    HookError, Hooks, Listener, ListenerResult, NextTurn, OutputChange, Permission, RunError,
    TurnDecision, hook,
};
use pi_protocol::{
    AgentMessage, AssistantMessage, CustomEntryMessage, Declarations, History, ImageContent,
    Message, MessageContent, StopReason, SystemMessage, UserBlock,
};
use pi_session::{CACHE_MISS_ENTRY, ExtensionMessage, SessionError, to_llm};

use super::loadout::without_tools;
use super::{AgentSession, SessionEvent, WeakAgentSession, lock};
use crate::extension::{
    BoundaryState, Context, ContextWithSystem, MessageEnd, QuestionKind, RunOutcome, ToolCall,
    ToolDecision, ToolResult, TurnEnd, with_system,
};

/// Changes the messages of a request.
pub(super) type RequestHook = Option<pi_agent::Hook<pi_agent::ContextView, History<AgentMessage>>>;

/// Returns the conversion of messages to what a model reads.
pub(super) fn convert(block_images: bool) -> Convert {
    if !block_images {
        return Arc::new(to_llm);
    }
    Arc::new(|message| to_llm(message).map(without_images))
}

/// Returns the messages under another prompt. The tools that the system messages declare stay.
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

/// Replaces images by a note. The images stay in the log.
fn without_images(message: Message) -> Message {
    const OMITTED: &str = "[Image omitted: the settings block images.]";
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

/// Receives the events of the loop for a session.
struct LoopListener(WeakAgentSession);

impl Listener for LoopListener {
    fn on_event<'a>(
        &'a self,
        event: &'a AgentEvent,
        context: EventContext<'a>,
    ) -> BoxFuture<'a, ListenerResult> {
        Box::pin(async move {
            let Some(session) = self.0.upgrade() else { return Ok(()) };
            session.handle_loop_event(event, context).await
        })
    }
}

/// Makes a hook of a session method; without a session the default applies.
fn session_hook<A, R, F, Fut>(this: &WeakAgentSession, method: F) -> Option<pi_agent::Hook<A, R>>
where
    A: Send + 'static,
    R: Default + Send + 'static,
    F: Fn(AgentSession, A) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = R> + Send + 'static,
{
    let this = this.clone();
    hook(move |argument: A| {
        let asked = this.upgrade().map(|session| method(session, argument));
        async move {
            match asked {
                Some(answer) => Ok::<R, HookError>(answer.await),
                None => Ok(R::default()),
            }
        }
    })
}

impl AgentSession {
    /// Listens to the loop and installs its hooks.
    pub(super) fn attach_to_loop(&self) {
        let this = self.downgrade();
        self.0.agent.add_listener(Arc::new(LoopListener(this.clone()))).forever();
        let mut hooks = Hooks::default();
        hooks.finish_message = session_hook(&this, |session, message: AgentMessage| async move {
            let completed = session.with_nested_calls(&message);
            if !session.is_answered(QuestionKind::MessageEnd) {
                return completed;
            }
            let message = completed.clone().unwrap_or(message);
            let answer = session.ask(MessageEnd::new(message)).await.answer.ok();
            answer.and_then(|answer| answer.0).or(completed)
        });
        let calls = self.call_hooks(None);
        (hooks.before_tool_call, hooks.after_tool_call) =
            (calls.before_tool_call, calls.after_tool_call);
        hooks.finish_turn =
            session_hook(&this, |session, turn| async move { session.turn_boundary(&turn).await });
        hooks.prepare_next_turn =
            session_hook(&this, |session, turn| async move { session.next_turn(&turn).await });
        self.0.agent.configure(|settings| settings.hooks = hooks);
    }

    /// Returns the hooks of tool calls; with `parent`, of calls during another one.
    pub(super) fn call_hooks(&self, parent: Option<&str>) -> Hooks {
        let this = self.downgrade();
        let parent: Option<Arc<str>> = parent.map(Into::into);
        let mut hooks = Hooks::default();
        let outer = parent.clone();
        hooks.before_tool_call = session_hook(&this, move |session, call| {
            let outer = outer.clone();
            async move { session.permission(call, outer).await }
        });
        hooks.after_tool_call = session_hook(&this, move |session, call| {
            let outer = parent.clone();
            async move { session.changed_result(call, outer).await }
        });
        hooks
    }

    pub(super) fn is_answered(&self, kind: QuestionKind) -> bool {
        self.0.extensions.registry().is_answered(kind)
    }

    async fn permission(&self, call: BeforeToolCall, parent: Option<Arc<str>>) -> Permission {
        let (name, id) = (&call.tool_call.name, &call.tool_call.id);
        let mut question = ToolCall::new(name, id, Arc::new(call.args), call.effects);
        question.parent_tool_call_id = parent.as_deref().map(str::to_owned);
        let asked = self.ask(question).await;
        match asked.answer {
            Ok(ToolDecision::Allow { input: arguments }) => Permission::Allow { arguments },
            Ok(ToolDecision::Ask { input: arguments, approvals }) => {
                Permission::Ask { arguments, approvals }
            }
            Ok(ToolDecision::Block { reason, terminate }) => {
                Permission::Block { reason, terminate }
            }
            Err(failure) => Permission::block(failure.error),
        }
    }

    async fn changed_result(&self, call: AfterToolCall, parent: Option<Arc<str>>) -> OutputChange {
        if !self.is_answered(QuestionKind::ToolResult) {
            return OutputChange::default();
        }
        let (name, id) = (&call.tool_call.name, &call.tool_call.id);
        let mut question = ToolResult::new(name, id, call.args, call.result, call.is_error);
        question.parent_tool_call_id = parent.as_deref().map(str::to_owned);
        self.ask(question).await.answer.unwrap_or_default()
    }

    /// Returns the hook for the messages of each request of the coming run. `None` unless an
    /// extension or a forced prompt needs it: looking at all messages costs more the more there
    /// are.
    pub(super) fn request_hook(&self) -> RequestHook {
        let forced = self.0.activity.run(|run| run.forced_prompt.clone());
        let asked = self.is_answered(QuestionKind::Context)
            || self.is_answered(QuestionKind::ContextWithSystem);
        if forced.is_none() && !asked && self.hidden_tools().is_empty() {
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
                let messages = session.request_messages(messages).await;
                let hidden = session.hidden_tools();
                Ok(if hidden.is_empty() { messages } else { without_tools(&messages, &hidden) })
            }
        })
    }

    /// Returns the messages of a request as extensions want them.
    async fn request_messages(&self, mut messages: History<AgentMessage>) -> History<AgentMessage> {
        if self.is_answered(QuestionKind::Context) {
            let asked = self.ask(Context::of(&messages)).await;
            if asked.answer.is_ok_and(|answer| answer.0.is_some()) {
                messages = with_system(&messages, &asked.question.messages);
            }
        }
        if self.is_answered(QuestionKind::ContextWithSystem) {
            messages = self.ask(ContextWithSystem::new(messages)).await.question.messages;
        }
        messages
    }

    async fn handle_loop_event(
        &self,
        event: &AgentEvent,
        context: EventContext<'_>,
    ) -> ListenerResult {
        self.emit_provider_chunks().await;
        if matches!(event, AgentEvent::AgentStart) && self.0.activity.is_abort_requested() {
            self.0.agent.abort();
        }
        if matches!(event, AgentEvent::TurnStart) {
            self.0.activity.run(|run| run.turn_index = context.turn_index);
        }
        if let Some(id) = context.queued
            && matches!(event, AgentEvent::MessageStart { .. })
        {
            self.delivered(id).await;
        }
        // Deltas are many; building one for no one would cost more than the rest of its way.
        let is_delta = matches!(event, AgentEvent::MessageUpdate { .. });
        let withheld = || self.0.extensions.registry().withholds_answers();
        let is_report = matches!(event, AgentEvent::ToolExecutionUpdate { .. });
        let is_early = is_report && self.0.extensions.registry().withholds_results();
        if !(is_early || is_delta && (self.is_unobserved() || withheld())) {
            let will_retry = matches!(event, AgentEvent::AgentEnd { .. }) && self.will_retry();
            let with_message = is_delta && self.0.extensions.receives("message_update");
            let event = SessionEvent::from_loop(event, &context, will_retry, with_message);
            if let Some(event) = event {
                self.emit(event).await;
            }
        }
        match event {
            AgentEvent::MessageEnd { message } => {
                self.persist(message)
                    .map_err(|error| RunError::with_source(error.to_string(), error))?;
                if let Some(answer) = message.as_assistant() {
                    self.record_cache_miss(answer).await;
                    if answer.stop_reason != StopReason::Error {
                        self.retry_succeeded().await;
                    }
                }
            }
            AgentEvent::AgentEnd { .. } => lock(&self.0.nested_calls).clear(),
            AgentEvent::TurnEnd { .. } => {
                self.flush_at_turn_end()
                    .await
                    .map_err(|error| RunError::with_source(error.to_string(), error))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Records a miss of the prompt cache after the answer that paid for it.
    async fn record_cache_miss(&self, answer: &AssistantMessage) {
        let miss = lock(&self.0.cache_health).answered(answer);
        let Some(miss) = miss else { return };
        let data = serde_json::to_value(&miss).ok();
        let appended = self.log().append_custom(CACHE_MISS_ENTRY, data);
        let emitted = match appended {
            Ok(id) => self.entry_appended(&id).await.map(drop),
            Err(error) => Err(error),
        };
        if let Err(error) = emitted {
            self.warn(format!("A miss of the prompt cache was not recorded: {error}"));
        }
    }

    /// Writes a complete message to the log.
    fn persist(&self, message: &AgentMessage) -> Result<(), SessionError> {
        let id = self.store(message)?;
        let mut sync = self.sync();
        match message {
            AgentMessage::Llm(Message::Assistant(_)) => {
                sync.last_turn_entries = vec![id];
                sync.edited = false;
            }
            AgentMessage::Llm(Message::ToolResult(_)) => sync.last_turn_entries.push(id),
            // A prompt begins anew; see `compact`.
            AgentMessage::Llm(Message::User(_)) => sync.recovery_attempted = false,
            AgentMessage::Llm(Message::System(_)) | AgentMessage::Custom(_) => {}
        }
        Ok(())
    }

    /// Appends a message as the kind of entry it belongs in.
    pub(super) fn store(&self, message: &AgentMessage) -> Result<String, SessionError> {
        let mut log = self.log();
        match message.as_custom::<ExtensionMessage>() {
            Some(ExtensionMessage { custom_type, content, display, details, .. }) => log
                .append_custom_message(CustomEntryMessage {
                    custom_type,
                    content,
                    display,
                    details,
                }),
            None => log.append_message(message.clone()),
        }
    }

    /// Asks extensions at the end of a turn for entries to append and whether the run continues.
    async fn turn_boundary(&self, turn: &FinishedTurn) -> TurnDecision {
        if !self.is_answered(QuestionKind::TurnEnd) {
            return TurnDecision::Proceed;
        }
        let outcome = match turn.message.stop_reason {
            StopReason::Aborted => RunOutcome::Aborted,
            StopReason::Error => RunOutcome::Error,
            _ => RunOutcome::Completed,
        };
        let mut state = BoundaryState::new(outcome, turn.context.messages.clone());
        state.turn_index = Some(self.0.activity.run(|run| run.turn_index));
        state.message = Some(Arc::clone(&turn.message));
        state.tool_results.clone_from(&turn.tool_results);
        let entries = self.sync().last_turn_entries.clone();
        let mut entries = entries.into_iter();
        state.message_entry_id = entries.next();
        state.tool_result_entry_ids = entries.collect();
        let boundary = self.ask(TurnEnd(state)).await.answer.unwrap_or_default();
        self.append_drafts(boundary.entries.unwrap_or_default()).await;
        if boundary.continues == Some(true) {
            TurnDecision::Continue
        } else {
            TurnDecision::Proceed
        }
    }

    /// Returns what the next turn of a run begins with.
    async fn next_turn(&self, turn: &FinishedTurn) -> NextTurn {
        let mut next = NextTurn::default();
        self.compact_between_turns(turn).await;
        if self.sync().take_diverged() {
            next.change.messages = Some(self.messages());
        }
        self.read_registry();
        let (model, level) = {
            let selection = self.selection();
            (selection.model.clone(), selection.thinking_level)
        };
        next.change.model = model;
        next.change.thinking_level = Some(level);
        next.change.tools = Some(self.run_tools());
        next.messages.extend(self.prompt_update());
        next
    }
}
