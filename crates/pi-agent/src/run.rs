//! The loop: ask the model, run its calls, take in what was queued, until there is nothing to do.
//!
//! Two nested loops. The inner one turns while the model calls tools or steering messages wait;
//! the outer one begins it again for follow-ups. Every event is awaited before the loop goes on.

use std::sync::Arc;

use pi_protocol::{
    AgentMessage, AssistantEvent, AssistantMessage, AssistantStream, CancelToken, Context, Message,
    Model, Provider, Request, StopReason, StreamOptions, ThinkingLevel,
};

use crate::call::contained;
use crate::conversation::{Conversation, Convert};
use crate::event::AgentEvent;
use crate::hooks::{
    ContextView, FinishedTurn, Hook, Hooks, PrepareRequest, RunChange, TurnDecision,
};
use crate::limits::{Limit, Limits, Spent};
use crate::outcome::Outcome;
use crate::repetition::{RepetitionLimits, Watch};
use crate::tool::{AgentTool, BoxFuture, ExecutionMode};

/// Messages that wait to be taken into the run. Called at the polling points; what it returns is
/// taken out of the queue.
pub type QueueFn = Arc<dyn Fn() -> Vec<AgentMessage> + Send + Sync>;

/// When a steering message reaches a model that has just called several tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SteeringDelivery {
    /// When all calls of the turn are done.
    #[default]
    AfterTurn,
    /// After the call that is running; those that have not begun are skipped, and say so.
    AfterTool,
}

/// Everything that decides how a run goes.
#[derive(Clone)]
pub struct RunSettings {
    /// The model that is asked.
    pub model: Arc<Model>,
    /// How much it thinks.
    pub thinking_level: ThinkingLevel,
    /// How it is asked.
    pub options: StreamOptions,
    /// What it can call.
    pub tools: Vec<Arc<dyn AgentTool>>,
    /// Whether calls of a turn run beside each other.
    pub tool_execution: ExecutionMode,
    /// When steering reaches the model.
    pub steering_delivery: SteeringDelivery,
    /// What the model reads of each message. Without it, messages of the application's own roles
    /// are left out.
    pub convert: Option<Convert>,
    /// Where the application takes part.
    pub hooks: Hooks,
    /// Messages for as soon as possible.
    pub steering: Option<QueueFn>,
    /// Messages for when the run would end.
    pub follow_ups: Option<QueueFn>,
    /// How much the run may take.
    pub limits: Limits,
    /// When it counts as going in circles.
    pub repetition: RepetitionLimits,
}

impl RunSettings {
    /// A run with `model`, no tools, and nothing else special.
    pub fn new(model: Arc<Model>) -> Self {
        Self {
            model,
            thinking_level: ThinkingLevel::Off,
            options: StreamOptions::default(),
            tools: Vec::new(),
            tool_execution: ExecutionMode::default(),
            steering_delivery: SteeringDelivery::default(),
            convert: None,
            hooks: Hooks::default(),
            steering: None,
            follow_ups: None,
            limits: Limits::default(),
            repetition: RepetitionLimits::default(),
        }
    }
}

/// Messages that a run took from its queues and could not deliver before it ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Undelivered {
    /// From the steering queue.
    pub steering: Vec<AgentMessage>,
    /// From the follow-up queue.
    pub follow_ups: Vec<AgentMessage>,
}

/// Something outside of tools and models failed: a listener, or a hook of the loop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RunError(pub String);

/// Where events go. Contract: called for one event after the other.
pub(crate) trait Sink: Send {
    /// Delivers an event; `streaming` is the assistant's message while it grows.
    fn emit<'a>(
        &'a mut self,
        event: AgentEvent,
        streaming: Option<&'a AssistantMessage>,
    ) -> BoxFuture<'a, Result<(), RunError>>;
}

/// One run.
pub(crate) struct Run<'s> {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) settings: RunSettings,
    pub(crate) sink: &'s mut dyn Sink,
    /// Cancelled by whoever aborts the run, and by limits of time.
    pub(crate) cancel: CancelToken,
    pub(crate) conversation: Conversation,
    pub(crate) new_messages: Vec<AgentMessage>,
    pub(crate) spent: Spent,
    pub(crate) limit: Option<Limit>,
    /// Messages taken from a queue and not yet delivered. What is left of them when the run ends
    /// goes back: see [`Undelivered`].
    pub(crate) pending: Vec<AgentMessage>,
    pending_is_follow_up: bool,
    watch: Watch,
}

impl<'s> Run<'s> {
    pub(crate) fn new(
        provider: Arc<dyn Provider>,
        settings: RunSettings,
        conversation: Conversation,
        cancel: &CancelToken,
        sink: &'s mut dyn Sink,
    ) -> Self {
        Self {
            provider,
            spent: Spent::new(settings.limits.clone()),
            watch: Watch::new(settings.repetition.clone()),
            settings,
            sink,
            cancel: cancel.child(),
            conversation,
            new_messages: Vec::new(),
            limit: None,
            pending: Vec::new(),
            pending_is_follow_up: false,
        }
    }

    /// Runs to the end. `prompts` begin the first turn; none to continue from where it stands.
    /// `poll_first`: look at the steering queue before the first request.
    pub(crate) async fn run(
        &mut self,
        prompts: Vec<AgentMessage>,
        poll_first: bool,
    ) -> Result<(), RunError> {
        self.emit(AgentEvent::AgentStart).await?;
        self.emit(AgentEvent::TurnStart).await?;
        if !prompts.is_empty() {
            self.take_in(prompts).await?;
        }
        let outcome = self.turns(poll_first).await?;
        let messages = std::mem::take(&mut self.new_messages);
        self.emit(AgentEvent::AgentEnd { messages, outcome }).await
    }

    async fn turns(&mut self, poll_first: bool) -> Result<Outcome, RunError> {
        if poll_first {
            self.poll_steering();
        }
        let mut last_turn: Option<FinishedTurn> = None;
        loop {
            let mut more = true;
            let mut asked_to_continue = false;
            while more || !self.pending.is_empty() {
                let mut begin = Vec::new();
                if let Some(turn) = last_turn.take() {
                    begin = self.prepare_next_turn(turn).await?;
                    self.poll_steering();
                    self.emit(AgentEvent::TurnStart).await?;
                }
                begin.append(&mut self.pending);
                self.take_in(begin).await?;
                let message = self.respond().await?;
                if message.stop_reason.is_failure() {
                    return self.failed_turn(message).await;
                }
                let results = if message.tool_calls().next().is_some() {
                    self.run_calls(&message).await?
                } else {
                    crate::batch::Batch::default()
                };
                more = !results.messages.is_empty() && !results.terminate;
                let turn = self.finished_turn(message, results.messages);
                let decision = self.ask_finish(turn.clone()).await?;
                self.end_turn(&turn).await?;
                if decision == TurnDecision::End {
                    return Ok(Outcome::Completed);
                }
                if let Some(outcome) = self.reason_to_stop(more, &turn) {
                    return Ok(outcome);
                }
                self.poll_steering();
                let goes_on_anyway = more || !self.pending.is_empty();
                asked_to_continue = decision == TurnDecision::Continue && !goes_on_anyway;
                last_turn = Some(turn);
            }
            self.poll_follow_ups();
            if self.pending.is_empty() && !asked_to_continue {
                return Ok(Outcome::Completed);
            }
        }
    }

    /// A limit or a circle that ends the run. Queues are not looked at: what is in them stays.
    fn reason_to_stop(&mut self, more: bool, turn: &FinishedTurn) -> Option<Outcome> {
        let repetition = self.watch.turn(&turn.message, &turn.tool_results);
        let limit = self.limit.take().or_else(|| self.spent.before_request());
        match (limit, repetition) {
            (Some(limit), _) if more => Some(Outcome::Limit { limit }),
            (None, Some(repetition)) if more => Some(Outcome::Repetition { repetition }),
            // No further request is needed; the run ends by itself.
            (Some(_), _) => Some(Outcome::Completed),
            _ => None,
        }
    }

    async fn failed_turn(&mut self, message: Arc<AssistantMessage>) -> Result<Outcome, RunError> {
        let outcome = match (self.limit.take(), &message.stop_reason) {
            (Some(limit), _) => Outcome::Limit { limit },
            (None, StopReason::Aborted) => Outcome::Aborted,
            (None, _) => {
                Outcome::Failed { error: message.error_message.clone().unwrap_or_default() }
            }
        };
        let turn = self.finished_turn(message, Vec::new());
        self.ask_finish(turn.clone()).await?;
        self.end_turn(&turn).await?;
        Ok(outcome)
    }

    fn finished_turn(
        &self,
        message: Arc<AssistantMessage>,
        tool_results: Vec<Arc<pi_protocol::ToolResultMessage>>,
    ) -> FinishedTurn {
        FinishedTurn { message, tool_results, context: self.view() }
    }

    async fn end_turn(&mut self, turn: &FinishedTurn) -> Result<(), RunError> {
        self.emit(AgentEvent::TurnEnd {
            message: Arc::clone(&turn.message),
            tool_results: turn.tool_results.clone(),
        })
        .await
    }

    /// Adds messages, with what must be said about tools.
    async fn take_in(&mut self, messages: Vec<AgentMessage>) -> Result<(), RunError> {
        for message in self.conversation.declare(messages, &self.settings.tools) {
            self.add(message).await?;
        }
        Ok(())
    }

    /// Announces a complete message and adds it to the transcript.
    pub(crate) async fn add(&mut self, message: AgentMessage) -> Result<(), RunError> {
        self.emit(AgentEvent::MessageStart { message: message.clone() }).await?;
        let message = self.finish_message(message).await?;
        self.emit(AgentEvent::MessageEnd { message: message.clone() }).await?;
        self.keep(message);
        Ok(())
    }

    fn keep(&mut self, message: AgentMessage) {
        self.conversation.push(message.clone());
        self.new_messages.push(message);
    }

    /// Asks the model and streams its answer.
    async fn respond(&mut self) -> Result<Arc<AssistantMessage>, RunError> {
        self.prepare_request().await?;
        let messages = match self.request_messages().await? {
            Some(messages) => messages.into(),
            None => self.conversation.llm().clone(),
        };
        let mut options = self.settings.options.clone();
        let thinking_level = self.settings.thinking_level;
        options.reasoning = Some(thinking_level).filter(|level| *level != ThinkingLevel::Off);
        if let Some(get_key) = self.settings.hooks.get_api_key.clone() {
            let key = self.ask(&get_key, self.settings.model.provider.clone()).await?;
            options.api_key = key.or(options.api_key);
        }
        let request = Request {
            model: Arc::clone(&self.settings.model),
            context: Context { messages, ..Context::default() },
            options,
        };
        let mut stream = self.provider.stream(request, self.cancel.clone());
        let mut started = false;
        while let Some(event) = self.next_event(&mut stream).await {
            self.spent.activity();
            if event.is_terminal() {
                break;
            }
            if event == AssistantEvent::Start {
                started = true;
                let message = Message::Assistant(Arc::new(stream.message().clone())).into();
                self.emit(AgentEvent::MessageStart { message }).await?;
            } else if started {
                let event = AgentEvent::MessageUpdate { assistant_message_event: event };
                self.sink.emit(event, Some(stream.message())).await?;
            }
        }
        let mut message = stream.result().await;
        // The stream is gone, so this is the only reference and nothing is copied.
        Arc::make_mut(&mut message).thinking_level = Some(thinking_level);
        self.spent.turn(&message.usage);
        let as_message = AgentMessage::from(Message::Assistant(Arc::clone(&message)));
        if !started {
            self.emit(AgentEvent::MessageStart { message: as_message.clone() }).await?;
        }
        let as_message = self.finish_message(as_message).await?;
        if let Some(finished) = as_message.as_assistant() {
            message = Arc::clone(finished);
        }
        self.emit(AgentEvent::MessageEnd { message: as_message.clone() }).await?;
        self.keep(as_message);
        Ok(message)
    }

    /// The next event of the model, within the limits of time.
    async fn next_event(&mut self, stream: &mut AssistantStream) -> Option<AssistantEvent> {
        loop {
            let Some(deadline) = self.deadline() else { return stream.next().await };
            match tokio::time::timeout_at(deadline, stream.next()).await {
                Ok(event) => return event,
                Err(_) => self.enforce_time(),
            }
        }
    }

    /// When time runs out, unless it already has.
    pub(crate) fn deadline(&self) -> Option<tokio::time::Instant> {
        self.spent.next_deadline().filter(|_| self.limit.is_none())
    }

    /// Ends what is going on if a limit of time has passed.
    pub(crate) fn enforce_time(&mut self) {
        if let Some(limit) = self.spent.overdue() {
            self.limit = Some(limit);
            self.cancel.cancel();
        }
    }

    /// The messages of the request, if the application has a say in them.
    async fn request_messages(&mut self) -> Result<Option<Vec<Message>>, RunError> {
        let Hooks { transform_context, convert_to_llm, .. } = self.settings.hooks.clone();
        if transform_context.is_none() && convert_to_llm.is_none() {
            return Ok(None);
        }
        let mut messages = self.conversation.messages().clone();
        if let Some(transform) = transform_context {
            messages = self.ask(&transform, self.view()).await?;
        }
        Ok(Some(match convert_to_llm {
            Some(convert) => self.ask(&convert, messages).await?,
            None => {
                messages.iter().filter_map(|message| self.conversation.converted(message)).collect()
            }
        }))
    }

    async fn prepare_request(&mut self) -> Result<(), RunError> {
        let Some(prepare) = self.settings.hooks.prepare_request.clone() else { return Ok(()) };
        let question = PrepareRequest {
            context: self.view(),
            model: Arc::clone(&self.settings.model),
            thinking_level: self.settings.thinking_level,
        };
        let change = self.ask(&prepare, question).await?;
        self.change(change);
        Ok(())
    }

    async fn prepare_next_turn(
        &mut self,
        turn: FinishedTurn,
    ) -> Result<Vec<AgentMessage>, RunError> {
        let Some(prepare) = self.settings.hooks.prepare_next_turn.clone() else {
            return Ok(Vec::new());
        };
        let next = self.ask(&prepare, turn).await?;
        self.change(next.change);
        Ok(next.messages)
    }

    fn change(&mut self, change: RunChange) {
        if let Some(messages) = change.messages {
            self.conversation.replace(messages.iter().cloned());
        }
        if let Some(tools) = change.tools {
            self.settings.tools = tools;
        }
        if let Some(model) = change.model {
            self.settings.model = model;
        }
        if let Some(level) = change.thinking_level {
            self.settings.thinking_level = level;
        }
    }

    /// The message as the application wants it kept.
    async fn finish_message(&mut self, message: AgentMessage) -> Result<AgentMessage, RunError> {
        let Some(finish) = self.settings.hooks.finish_message.clone() else { return Ok(message) };
        let replaced = self.ask(&finish, message.clone()).await?;
        Ok(replaced.filter(|other| other.role() == message.role()).unwrap_or(message))
    }

    async fn ask_finish(&mut self, turn: FinishedTurn) -> Result<TurnDecision, RunError> {
        match self.settings.hooks.finish_turn.clone() {
            Some(finish) => self.ask(&finish, turn).await,
            None => Ok(TurnDecision::Proceed),
        }
    }

    /// Asks a hook. The future holds nothing of the run, so that the run stays `Send` meanwhile.
    fn ask<A, R>(
        &self,
        hook: &Hook<A, R>,
        argument: A,
    ) -> impl Future<Output = Result<R, RunError>> + use<A, R> {
        let (hook, cancel) = (Arc::clone(hook), self.cancel.clone());
        async move { contained(&hook, argument, &cancel).await.map_err(|error| RunError(error.0)) }
    }

    /// Takes what steering waits, unless something was taken already and waits here.
    pub(crate) fn poll_steering(&mut self) {
        if self.pending.is_empty()
            && let Some(queue) = &self.settings.steering
        {
            self.pending = queue();
            self.pending_is_follow_up = false;
        }
    }

    fn poll_follow_ups(&mut self) {
        if let Some(queue) = &self.settings.follow_ups {
            self.pending = queue();
            self.pending_is_follow_up = true;
        }
    }

    /// What was taken from the queues and never delivered.
    pub(crate) fn undelivered(&mut self) -> Undelivered {
        let messages = std::mem::take(&mut self.pending);
        if self.pending_is_follow_up {
            Undelivered { steering: Vec::new(), follow_ups: messages }
        } else {
            Undelivered { steering: messages, follow_ups: Vec::new() }
        }
    }

    pub(crate) fn view(&self) -> ContextView {
        ContextView { messages: self.conversation.messages().clone(), cancel: self.cancel.clone() }
    }

    pub(crate) async fn emit(&mut self, event: AgentEvent) -> Result<(), RunError> {
        self.sink.emit(event, None).await
    }
}

impl std::fmt::Debug for RunSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunSettings").field("model", &self.model.id).finish_non_exhaustive()
    }
}
