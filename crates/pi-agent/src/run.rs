//! The loop: request, tool calls, queued messages, until nothing is left to do.
//!
//! Two nested loops. The inner one turns while the model calls tools or steering messages wait;
//! the outer one restarts it for follow-ups. Every event is awaited before the loop continues.

mod batch;

use std::sync::Arc;

use pi_protocol::{
    AgentMessage, AssistantEvent, AssistantMessage, AssistantStream, CancelToken, Context, Message,
    Provider, Request, StopReason, ThinkingLevel, ToolResultMessage,
};

use batch::Batch;

use crate::budget::{Budget, Charge};
use crate::call::call_contained;
use crate::error::RunError;
use crate::event::AgentEvent;
use crate::hooks::{
    ContextView, FinishedTurn, Hook, Hooks, PrepareRequest, RunChange, TurnDecision,
};
use crate::limits::Limit;
use crate::outcome::Outcome;
use crate::queue::{Incoming, QueueKind, QueuedId};
use crate::repetition::RepetitionDetector;
use crate::settings::{RunSettings, SteeringDelivery};
use crate::tool::BoxFuture;
use crate::transcript::Transcript;
use crate::unanswered::UnansweredCalls;

/// The surroundings of a run: where its events go and its queued messages come from.
pub(crate) trait Host: Send {
    /// Delivers an event. Contract: called for one event after the other.
    fn emit<'a>(
        &'a mut self,
        event: AgentEvent,
        details: EventDetails<'a>,
    ) -> BoxFuture<'a, Result<(), RunError>>;

    /// Takes the messages that are due from a queue.
    fn take_queued(&mut self, queue: QueueKind) -> Vec<Incoming>;

    /// Returns the setting in force, which can change during a run.
    fn steering_delivery(&self) -> SteeringDelivery;
}

/// The part of an [`EventContext`](crate::EventContext) that only the run knows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EventDetails<'a> {
    pub(crate) streaming: Option<&'a Arc<AssistantMessage>>,
    pub(crate) queued: Option<QueuedId>,
}

/// The first time at which a run looks at the steering queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstPoll {
    BeforeFirstRequest,
    AfterFirstTurn,
}

/// The start of a run.
#[derive(Debug)]
pub(crate) enum Start {
    /// Messages that begin the first turn; without any, the run continues from the end of the
    /// transcript.
    Prompts(Vec<Incoming>, FirstPoll),
    /// Calls of the last answer that have no result.
    Unanswered(UnansweredCalls),
}

/// A run in progress.
pub(crate) struct Run<'s> {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) settings: RunSettings,
    pub(crate) host: &'s mut dyn Host,
    /// Cancelled by an abort and by time limits.
    pub(crate) cancel: CancelToken,
    pub(crate) transcript: Transcript,
    pub(crate) new_messages: Vec<AgentMessage>,
    pub(crate) budget: Budget,
    /// The limit that cancelled a request or a tool call, or kept one from being made.
    pub(crate) limit: Option<Limit>,
    /// Messages taken from a queue and not yet delivered. The rest goes back to the queue when the
    /// run ends.
    pub(crate) pending: Vec<Incoming>,
    repetition: RepetitionDetector,
}

impl<'s> Run<'s> {
    pub(crate) fn new(
        provider: Arc<dyn Provider>,
        settings: RunSettings,
        transcript: Transcript,
        cancel: &CancelToken,
        host: &'s mut dyn Host,
    ) -> Self {
        Self {
            provider,
            budget: settings.run_budget(),
            repetition: RepetitionDetector::new(settings.repetition.clone()),
            settings,
            host,
            cancel: cancel.child(),
            transcript,
            new_messages: Vec::new(),
            limit: None,
            pending: Vec::new(),
        }
    }

    /// Runs to the end.
    pub(crate) async fn run(&mut self, start: Start) -> Result<(), RunError> {
        self.emit(AgentEvent::AgentStart).await?;
        self.emit(AgentEvent::TurnStart).await?;
        let outcome = match start {
            Start::Prompts(prompts, first_poll) => {
                if !prompts.is_empty() {
                    self.add_all(prompts).await?;
                }
                if first_poll == FirstPoll::BeforeFirstRequest {
                    self.poll_steering();
                }
                self.turns(None).await?
            }
            Start::Unanswered(unanswered) => self.turns(Some(unanswered)).await?,
        };
        let messages = std::mem::take(&mut self.new_messages);
        self.emit(AgentEvent::AgentEnd { messages, outcome }).await
    }

    /// Takes turns until the run ends. The first one begins with the calls of an earlier answer
    /// that have no result, if there are any.
    async fn turns(&mut self, mut earlier: Option<UnansweredCalls>) -> Result<Outcome, RunError> {
        let mut last_turn: Option<FinishedTurn> = None;
        loop {
            let mut needs_request = true;
            let mut extra_request = false;
            while needs_request || !self.pending.is_empty() {
                let mut incoming = Vec::new();
                if let Some(turn) = last_turn.take() {
                    incoming = self.prepare_next_turn(turn).await?;
                    self.poll_steering();
                    self.emit(AgentEvent::TurnStart).await?;
                }
                let (message, calls) = match earlier.take() {
                    Some(UnansweredCalls { message, calls }) => (message, calls),
                    None => {
                        incoming.append(&mut self.pending);
                        self.add_all(incoming).await?;
                        // A cancelled run sends no request.
                        if !self.cancel.is_cancelled()
                            && let Err(limit) = self.budget.take_turn()
                        {
                            return self.refused_turn(limit).await;
                        }
                        let message = self.respond().await?;
                        if message.stop_reason.is_failure() {
                            return self.failed_turn(message).await;
                        }
                        let calls = message.tool_calls().cloned().collect();
                        (message, calls)
                    }
                };
                let results = if calls.is_empty() {
                    Batch::default()
                } else {
                    self.run_calls(&message, calls).await?
                };
                needs_request = !results.messages.is_empty() && !results.terminate;
                let turn = self.finished_turn(message, results.messages);
                if results.suspended {
                    self.end_turn(&turn).await?;
                    return Ok(match self.limit.take() {
                        Some(limit) => Outcome::Limit { limit },
                        None => Outcome::Suspended,
                    });
                }
                let decision = self.finish_turn(turn.clone()).await?;
                self.end_turn(&turn).await?;
                if decision == TurnDecision::End {
                    return Ok(Outcome::Completed);
                }
                if let Some(outcome) = self.reason_to_stop(needs_request, &turn) {
                    return Ok(outcome);
                }
                self.poll_steering();
                let continues = needs_request || !self.pending.is_empty();
                extra_request = decision == TurnDecision::Continue && !continues;
                last_turn = Some(turn);
            }
            self.pending = self.host.take_queued(QueueKind::FollowUp);
            if self.pending.is_empty() && !extra_request {
                return Ok(Outcome::Completed);
            }
        }
    }

    /// Returns the outcome if a limit or a repetition ends the run. Queued messages stay queued.
    fn reason_to_stop(&mut self, needs_request: bool, turn: &FinishedTurn) -> Option<Outcome> {
        let repetition = self.repetition.turn(&turn.message, &turn.tool_results);
        if let Some(limit) = self.limit.take() {
            return Some(Outcome::Limit { limit });
        }
        match (self.budget.before_request(), repetition) {
            (Some(limit), _) if needs_request => Some(Outcome::Limit { limit }),
            (None, Some(repetition)) if needs_request => Some(Outcome::Repetition { repetition }),
            // No further request is needed, so the run is complete in spite of the limit.
            (Some(_), _) => Some(Outcome::Completed),
            _ => None,
        }
    }

    /// Ends a turn whose request a limit forbids: with a message that says so, since every turn has
    /// one.
    async fn refused_turn(&mut self, limit: Limit) -> Result<Outcome, RunError> {
        let error = format!("the run has reached its limit: {limit}");
        let model = Arc::clone(&self.settings.model);
        let message = AssistantStream::failed(&model, error).result().await;
        self.add(AgentMessage::from(Message::Assistant(Arc::clone(&message)))).await?;
        self.limit = Some(limit);
        self.failed_turn(message).await
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
        self.finish_turn(turn.clone()).await?;
        self.end_turn(&turn).await?;
        Ok(outcome)
    }

    fn finished_turn(
        &self,
        message: Arc<AssistantMessage>,
        tool_results: Vec<Arc<ToolResultMessage>>,
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

    /// Adds messages to the transcript, and declares the current tools to the model. If that
    /// fails, queued messages that have not begun become pending again.
    async fn add_all(&mut self, messages: Vec<Incoming>) -> Result<(), RunError> {
        let mut incoming = self.transcript.declare(messages, &self.settings.tools).into_iter();
        while let Some(next) = incoming.next() {
            if let Err(error) = self.add(next).await {
                self.pending.extend(incoming.filter(|rest| rest.origin.is_some()));
                return Err(error);
            }
        }
        Ok(())
    }

    /// Emits the events of a complete message and adds it to the transcript.
    pub(crate) async fn add(&mut self, incoming: impl Into<Incoming>) -> Result<(), RunError> {
        let incoming = incoming.into();
        let details = EventDetails { queued: incoming.queued(), ..EventDetails::default() };
        let message = incoming.message;
        self.host.emit(AgentEvent::MessageStart { message: message.clone() }, details).await?;
        let message = self.finish_message(message).await?;
        self.emit(AgentEvent::MessageEnd { message: message.clone() }).await?;
        self.record(message);
        Ok(())
    }

    fn record(&mut self, message: AgentMessage) {
        self.transcript.push(message.clone());
        self.new_messages.push(message);
    }

    /// Sends a request to the model and streams the answer.
    async fn respond(&mut self) -> Result<Arc<AssistantMessage>, RunError> {
        self.prepare_request().await?;
        let messages = match self.request_messages().await? {
            Some(messages) => messages.into(),
            None => self.transcript.llm().clone(),
        };
        let mut options = self.settings.options.clone();
        let thinking_level = self.settings.thinking_level;
        options.reasoning = match thinking_level {
            ThinkingLevel::Off => None,
            level => Some(level),
        };
        if let Some(get_key) = self.settings.hooks.get_api_key.clone() {
            let key = self.call_hook(&get_key, self.settings.model.provider.clone()).await?;
            options.api_key = key.or(options.api_key);
        }
        let context = Context { messages, ..Context::default() };
        let mut request = Request::new(Arc::clone(&self.settings.model), context, options);
        let cut_by = self.budget.limit_output(&mut request);
        let mut charge = Charge::new(self.budget.clone(), request.model.cost.clone());
        let mut stream = self.provider.stream(request, self.cancel.clone());
        let mut started = false;
        while let Some(event) = self.next_event(&mut stream).await {
            charge.event(&event, stream.message());
            if event.is_terminal() {
                break;
            }
            self.enforce(match stream.is_complete() {
                // An answer that has arrived is not lost for its price.
                true => self.budget.output_exceeded(),
                false => self.budget.exceeded(),
            });
            if event == AssistantEvent::Start {
                started = true;
                let message =
                    Message::Assistant(Arc::new(AssistantMessage::clone(stream.message()))).into();
                self.emit(AgentEvent::MessageStart { message }).await?;
            } else if started {
                let event = AgentEvent::MessageUpdate { assistant_message_event: event };
                let streaming = Some(stream.message());
                self.host.emit(event, EventDetails { streaming, queued: None }).await?;
            }
        }
        let mut message = stream.result().await;
        // The stream is gone, so this is the only reference and nothing is copied.
        // A provider that routes requests sets the level of the model that answered.
        Arc::make_mut(&mut message).thinking_level.get_or_insert(thinking_level);
        if message.stop_reason == StopReason::Length && self.limit.is_none() {
            self.limit = cut_by;
        }
        let as_message = AgentMessage::from(Message::Assistant(Arc::clone(&message)));
        if !started {
            self.emit(AgentEvent::MessageStart { message: as_message.clone() }).await?;
        }
        let as_message = self.finish_message(as_message).await?;
        if let Some(finished) = as_message.as_assistant() {
            message = Arc::clone(finished);
        }
        self.emit(AgentEvent::MessageEnd { message: as_message.clone() }).await?;
        self.record(as_message);
        Ok(message)
    }

    /// Returns the next event of the model's stream, and enforces the time limits meanwhile.
    async fn next_event(&mut self, stream: &mut AssistantStream) -> Option<AssistantEvent> {
        loop {
            let Some(deadline) = self.deadline() else { return stream.next().await };
            match tokio::time::timeout_at(deadline, stream.next()).await {
                Ok(event) => return event,
                Err(_) => self.enforce(self.budget.overdue()),
            }
        }
    }

    /// Returns the next deadline of the time limits, unless everything is cancelled already.
    pub(crate) fn deadline(&self) -> Option<tokio::time::Instant> {
        if self.cancel.is_cancelled() { None } else { self.budget.next_deadline() }
    }

    /// Cancels the request and the tool calls in progress if a limit has been exceeded.
    pub(crate) fn enforce(&mut self, limit: Option<Limit>) {
        if let Some(limit) = limit
            && !self.cancel.is_cancelled()
        {
            self.limit.get_or_insert(limit);
            self.cancel.cancel();
        }
    }

    /// Returns the messages of the request if hooks make them, `None` for those of the transcript.
    async fn request_messages(&mut self) -> Result<Option<Vec<Message>>, RunError> {
        let Hooks { transform_context, convert_to_llm, .. } = self.settings.hooks.clone();
        if transform_context.is_none() && convert_to_llm.is_none() {
            return Ok(None);
        }
        let mut messages = self.transcript.messages().clone();
        if let Some(transform) = transform_context {
            messages = self.call_hook(&transform, self.view()).await?;
        }
        Ok(Some(match convert_to_llm {
            Some(convert) => self.call_hook(&convert, messages).await?,
            None => {
                messages.iter().filter_map(|message| self.transcript.converted(message)).collect()
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
        let change = self.call_hook(&prepare, question).await?;
        self.change(change);
        Ok(())
    }

    async fn prepare_next_turn(&mut self, turn: FinishedTurn) -> Result<Vec<Incoming>, RunError> {
        let Some(prepare) = self.settings.hooks.prepare_next_turn.clone() else {
            return Ok(Vec::new());
        };
        let next = self.call_hook(&prepare, turn).await?;
        self.change(next.change);
        Ok(next.messages.into_iter().map(Incoming::from).collect())
    }

    fn change(&mut self, change: RunChange) {
        if let Some(messages) = change.messages {
            self.transcript.replace(messages.iter().cloned());
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

    /// Lets the application replace a complete message by another one of the same role.
    async fn finish_message(&mut self, message: AgentMessage) -> Result<AgentMessage, RunError> {
        let Some(finish) = self.settings.hooks.finish_message.clone() else { return Ok(message) };
        let replaced = self.call_hook(&finish, message.clone()).await?;
        Ok(replaced.filter(|other| other.role() == message.role()).unwrap_or(message))
    }

    async fn finish_turn(&mut self, turn: FinishedTurn) -> Result<TurnDecision, RunError> {
        match self.settings.hooks.finish_turn.clone() {
            Some(finish) => self.call_hook(&finish, turn).await,
            None => Ok(TurnDecision::Proceed),
        }
    }

    /// Calls a hook, and enforces the time limits meanwhile.
    async fn call_hook<A, R>(&mut self, hook: &Hook<A, R>, argument: A) -> Result<R, RunError> {
        let cancel = self.cancel.clone();
        let mut calling = std::pin::pin!(call_contained(hook, argument, &cancel));
        loop {
            let Some(deadline) = self.deadline() else {
                return calling.await.map_err(RunError::from);
            };
            match tokio::time::timeout_at(deadline, &mut calling).await {
                Ok(result) => return result.map_err(RunError::from),
                Err(_) => self.enforce(self.budget.overdue()),
            }
        }
    }

    /// Takes the steering messages that are due, unless messages are pending already.
    pub(crate) fn poll_steering(&mut self) {
        if self.pending.is_empty() {
            self.pending = self.host.take_queued(QueueKind::Steering);
        }
    }

    /// Returns the messages that were taken from the queues and not delivered.
    pub(crate) fn undelivered(&mut self) -> Vec<Incoming> {
        std::mem::take(&mut self.pending)
    }

    pub(crate) fn view(&self) -> ContextView {
        ContextView { messages: self.transcript.messages().clone(), cancel: self.cancel.clone() }
    }

    pub(crate) async fn emit(&mut self, event: AgentEvent) -> Result<(), RunError> {
        self.host.emit(event, EventDetails::default()).await
    }
}
