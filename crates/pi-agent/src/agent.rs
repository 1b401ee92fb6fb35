//! An agent: a transcript, a model, tools and queues behind one handle.
//!
//! The loop is in `run`; this is the state around it. The handle is cheap to clone and can be used
//! from several tasks: one waits for `prompt` while others steer, abort or read the state. The
//! lock of the state is never held across an await.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::FutureExt as _;
use pi_base::lock;
use pi_protocol::{
    AgentMessage, CancelToken, Declarations, History, ImageContent, Message, MessageContent, Model,
    Provider, SystemMessage, UserBlock,
};
use tokio::sync::watch;

use crate::call::panic_text;
use crate::event::AgentEvent;
use crate::listener::{AsyncListener, EventContext, FnListener, Listener, ListenerResult};
use crate::outcome::Outcome;
use crate::queue::{Incoming, Origin, Queue, QueueKind, QueueMode, QueuedId};
use crate::run::{FirstPoll, Run, Start};
use crate::settings::{RunSettings, SteeringDelivery};
use crate::transcript::Transcript;
use crate::unanswered::unanswered_calls;

use self::host::AgentHost;

mod host;

/// A handle to an agent.
#[derive(Clone)]
pub struct Agent(Arc<Inner>);

struct Inner {
    provider: Arc<dyn Provider>,
    state: Mutex<State>,
    listeners: Mutex<Vec<(u64, Arc<dyn Listener>)>>,
    next_listener: AtomicU64,
    idle: watch::Sender<bool>,
}

struct State {
    settings: RunSettings,
    transcript: Transcript,
    steering: Queue,
    follow_ups: Queue,
    next_queued: u64,
    running: Option<CancelToken>,
    pending_tool_calls: BTreeSet<String>,
    error: Option<String>,
}

impl State {
    fn queue(&mut self, kind: QueueKind) -> &mut Queue {
        match kind {
            QueueKind::Steering => &mut self.steering,
            QueueKind::FollowUp => &mut self.follow_ups,
        }
    }

    fn enqueue(&mut self, kind: QueueKind, message: AgentMessage) -> QueuedId {
        let id = QueuedId(self.next_queued);
        self.next_queued += 1;
        self.queue(kind).push(Incoming { message, origin: Some(Origin { queue: kind, id }) });
        id
    }
}

/// The reasons for which an agent rejects a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// `prompt` during a run.
    #[error(
        "Agent is already processing a prompt. Use steer() or followUp() to queue messages, or wait for completion."
    )]
    BusyPrompt,
    /// `continue_run` during a run.
    #[error("Agent is already processing. Wait for completion before continuing.")]
    BusyContinue,
    /// `reset` during a run.
    #[error("Agent is already processing. Wait for completion before resetting.")]
    BusyReset,
    /// `continue_run` without any message but system messages.
    #[error("No messages to continue from")]
    NothingToContinue,
    /// `continue_run` after a message of the assistant, with empty queues.
    #[error("Cannot continue from message role: assistant")]
    AssistantLast,
}

/// A subscribed listener. Dropping the subscription removes the listener, unless it was made
/// permanent with [`Subscription::forever`].
#[must_use = "dropping the subscription removes the listener"]
pub struct Subscription {
    agent: Option<Agent>,
    id: u64,
}

impl Subscription {
    /// Keeps the listener as long as the agent exists.
    pub fn forever(mut self) {
        self.agent = None;
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(agent) = self.agent.take() {
            agent.listeners().retain(|(id, _)| *id != self.id);
        }
    }
}

impl Agent {
    /// Creates an agent with an empty transcript.
    pub fn new(provider: Arc<dyn Provider>, settings: RunSettings) -> Self {
        Self::with_messages(provider, settings, "", [])
    }

    /// Creates an agent with a system prompt and a transcript. Unless the transcript begins with a
    /// system message, one with the prompt and the tools is put before it.
    pub fn with_messages(
        provider: Arc<dyn Provider>,
        settings: RunSettings,
        system_prompt: &str,
        messages: impl IntoIterator<Item = AgentMessage>,
    ) -> Self {
        let mut messages = messages.into_iter().peekable();
        let has_system = messages.peek().is_some_and(|message| message.role() == "system");
        let mut transcript = Transcript::new(settings.convert.clone(), []);
        if !has_system && (!system_prompt.is_empty() || !settings.tools.is_empty()) {
            let system = SystemMessage {
                content: MessageContent::Text(system_prompt.to_owned()),
                tools_added: settings.tools.iter().map(|t| t.declaration().clone()).collect(),
                ..SystemMessage::default()
            };
            transcript.push(Message::System(Arc::new(system)).into());
        }
        for message in messages {
            transcript.push(message);
        }
        let state = State {
            settings,
            transcript,
            steering: Queue::default(),
            follow_ups: Queue::default(),
            next_queued: 0,
            running: None,
            pending_tool_calls: BTreeSet::new(),
            error: None,
        };
        Self(Arc::new(Inner {
            provider,
            state: Mutex::new(state),
            listeners: Mutex::new(Vec::new()),
            next_listener: AtomicU64::new(0),
            idle: watch::Sender::new(true),
        }))
    }

    /// Runs a prompt and waits for the end of the run, listeners included.
    pub async fn prompt(&self, text: impl Into<String>) -> Result<Outcome, AgentError> {
        self.prompt_with_images(text, Vec::new()).await
    }

    /// Runs a prompt with images.
    pub async fn prompt_with_images(
        &self,
        text: impl Into<String>,
        images: Vec<ImageContent>,
    ) -> Result<Outcome, AgentError> {
        let mut blocks = vec![UserBlock::text(text)];
        blocks.extend(images.into_iter().map(UserBlock::Image));
        self.prompt_messages(vec![Message::user_blocks(blocks).into()]).await
    }

    /// Runs with the given messages as the prompt.
    pub async fn prompt_messages(
        &self,
        messages: Vec<AgentMessage>,
    ) -> Result<Outcome, AgentError> {
        let running = self.begin(AgentError::BusyPrompt)?;
        let prompts = messages.into_iter().map(Incoming::from).collect();
        Ok(self.run(running, Start::Prompts(prompts, FirstPoll::BeforeFirstRequest)).await)
    }

    /// Runs without a prompt, and first executes the tool calls of the last answer that have no
    /// result. Continues like [`Agent::continue_run`] if there are none.
    pub async fn resume_run(&self) -> Result<Outcome, AgentError> {
        let unanswered = unanswered_calls(&self.messages());
        let Some(unanswered) = unanswered else { return self.continue_run().await };
        let running = self.begin(AgentError::BusyContinue)?;
        Ok(self.run(running, Start::Unanswered(unanswered)).await)
    }

    /// Runs without a prompt: continues from the end of the transcript, or with queued messages if
    /// the last message is the assistant's.
    pub async fn continue_run(&self) -> Result<Outcome, AgentError> {
        let running = self.begin(AgentError::BusyContinue)?;
        let (prompts, first_poll) = {
            let mut state = self.state();
            let messages = state.transcript.messages();
            if messages.iter().rev().all(|message| message.role() == "system") {
                return Err(AgentError::NothingToContinue);
            }
            let assistant_last = messages.last().is_some_and(|m| m.role() == "assistant");
            if assistant_last {
                let steering = state.steering.take();
                if steering.is_empty() {
                    let follow_ups = state.follow_ups.take();
                    if follow_ups.is_empty() {
                        return Err(AgentError::AssistantLast);
                    }
                    (follow_ups, FirstPoll::BeforeFirstRequest)
                } else {
                    // One at a time means one: the next message waits for the next turn.
                    (steering, FirstPoll::AfterFirstTurn)
                }
            } else {
                (Vec::new(), FirstPoll::BeforeFirstRequest)
            }
        };
        Ok(self.run(running, Start::Prompts(prompts, first_poll)).await)
    }

    /// Queues a message for delivery before the next request of the run.
    ///
    /// The identity that is returned appears in
    /// [`EventContext::queued`](crate::EventContext::queued) when the message begins.
    pub fn steer(&self, message: impl Into<AgentMessage>) -> QueuedId {
        self.state().enqueue(QueueKind::Steering, message.into())
    }

    /// Queues a message for delivery when the run would otherwise end.
    ///
    /// The identity that is returned appears in
    /// [`EventContext::queued`](crate::EventContext::queued) when the message begins.
    pub fn follow_up(&self, message: impl Into<AgentMessage>) -> QueuedId {
        self.state().enqueue(QueueKind::FollowUp, message.into())
    }

    /// Removes a queued message. Returns false if it is not queued: it was delivered, removed, or
    /// taken by a turn that is about to begin.
    pub fn remove_queued(&self, id: QueuedId) -> bool {
        let mut state = self.state();
        state.steering.remove(id) || state.follow_ups.remove(id)
    }

    /// Aborts the run, if there is one. Queued messages stay queued.
    pub fn abort(&self) {
        let running = self.state().running.clone();
        if let Some(cancel) = running {
            cancel.cancel();
        }
    }

    /// Returns the token that aborts the run; `None` if there is no run.
    pub fn cancel_token(&self) -> Option<CancelToken> {
        self.state().running.clone()
    }

    /// Waits for the end of the run, if there is one.
    pub async fn wait_for_idle(&self) {
        let mut idle = self.0.idle.subscribe();
        // The sender lives as long as this handle does.
        let _ = idle.wait_for(|idle| *idle).await;
    }

    /// Clears the transcript and the queues. The system prompt and the declared tools stay, as one
    /// system message.
    pub fn reset(&self) -> Result<(), AgentError> {
        let mut state = self.state();
        if state.running.is_some() {
            return Err(AgentError::BusyReset);
        }
        let declared = state.transcript.declared().clone();
        state.transcript.replace([]);
        if let Some(timestamp) = declared.timestamp {
            let sections =
                if declared.sections.is_empty() { None } else { Some(declared.sections) };
            let system = SystemMessage {
                content: MessageContent::Text(declared.content.join("\n\n")),
                sections,
                tools_added: declared.tools,
                timestamp,
                ..SystemMessage::default()
            };
            state.transcript.push(Message::System(Arc::new(system)).into());
        }
        state.steering.clear();
        state.follow_ups.clear();
        state.error = None;
        Ok(())
    }

    /// Calls `listener` for every event.
    pub fn subscribe(
        &self,
        listener: impl Fn(&AgentEvent, EventContext<'_>) + Send + Sync + 'static,
    ) -> Subscription {
        self.add_listener(Arc::new(FnListener(listener)))
    }

    /// Calls and awaits `listener` for every event. An error ends the run.
    pub fn subscribe_async<F, Fut>(&self, listener: F) -> Subscription
    where
        F: Fn(AgentEvent, CancelToken) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ListenerResult> + Send + 'static,
    {
        self.add_listener(Arc::new(AsyncListener(listener)))
    }

    /// Adds a listener. Listeners are called in the order in which they were added.
    pub fn add_listener(&self, listener: Arc<dyn Listener>) -> Subscription {
        let id = self.0.next_listener.fetch_add(1, Ordering::Relaxed);
        self.listeners().push((id, listener));
        Subscription { agent: Some(self.clone()), id }
    }

    /// Returns the transcript, as a snapshot that is cheap to make.
    pub fn messages(&self) -> History<AgentMessage> {
        self.state().transcript.messages().clone()
    }

    /// Adds a message to the transcript. Takes effect with the next run.
    pub fn add_message(&self, message: impl Into<AgentMessage>) {
        self.state().transcript.push(message.into());
    }

    /// Replaces the transcript. Takes effect with the next run.
    pub fn set_messages(&self, messages: impl IntoIterator<Item = AgentMessage>) {
        let mut state = self.state();
        state.transcript = Transcript::new(state.settings.convert.clone(), messages);
    }

    /// Returns the prompt sections and tools that the transcript declares to the model.
    pub fn declared(&self) -> Declarations {
        self.state().transcript.declared().clone()
    }

    /// Returns the system prompt that the transcript declares to the model.
    pub fn system_prompt(&self) -> String {
        self.state().transcript.declared().prompt()
    }

    /// Changes the settings. Takes effect with the next run.
    pub fn configure(&self, change: impl FnOnce(&mut RunSettings)) {
        change(&mut self.state().settings);
    }

    /// Returns the model of the next run.
    pub fn model(&self) -> Arc<Model> {
        Arc::clone(&self.state().settings.model)
    }

    /// Returns true during a run, and until all listeners have handled its last event.
    pub fn is_running(&self) -> bool {
        self.state().running.is_some()
    }

    /// Returns the ids of the tool calls that are executing.
    pub fn pending_tool_calls(&self) -> BTreeSet<String> {
        self.state().pending_tool_calls.clone()
    }

    /// Returns the error of the last failed turn. A new run clears it.
    pub fn error(&self) -> Option<String> {
        self.state().error.clone()
    }

    /// Sets how many queued messages are delivered at once, for each queue. Takes effect
    /// immediately.
    pub fn set_queue_modes(&self, steering: QueueMode, follow_ups: QueueMode) {
        let mut state = self.state();
        state.steering.mode = steering;
        state.follow_ups.mode = follow_ups;
    }

    /// Sets the moment at which steering messages are delivered. Takes effect immediately, also
    /// during a run.
    pub fn set_steering_delivery(&self, delivery: SteeringDelivery) {
        self.state().settings.steering_delivery = delivery;
    }

    /// Returns the queued messages that the next turn would begin with.
    pub fn peek_queued(&self) -> Vec<AgentMessage> {
        let state = self.state();
        let steering = state.steering.peek();
        if steering.is_empty() { state.follow_ups.peek() } else { steering }
    }

    /// Returns true if a message is queued.
    pub fn has_queued(&self) -> bool {
        let state = self.state();
        !state.steering.is_empty() || !state.follow_ups.is_empty()
    }

    /// Removes all queued messages.
    pub fn clear_queues(&self) {
        let mut state = self.state();
        state.steering.clear();
        state.follow_ups.clear();
    }

    /// Marks the agent as running.
    fn begin(&self, busy: AgentError) -> Result<Running, AgentError> {
        let mut state = self.state();
        if state.running.is_some() {
            return Err(busy);
        }
        let cancel = CancelToken::new();
        state.running = Some(cancel.clone());
        drop(state);
        self.0.idle.send_replace(false);
        Ok(Running { agent: self.clone(), cancel })
    }

    async fn run(&self, running: Running, start: Start) -> Outcome {
        let (settings, transcript) = {
            let mut state = self.state();
            state.error = None;
            (state.settings.clone(), state.transcript.clone())
        };
        let model = Arc::clone(&settings.model);
        let provider = Arc::clone(&self.0.provider);
        let cancel = running.cancel.clone();
        let mut host = AgentHost::new(self, cancel.clone());
        let mut run = Run::new(provider, settings, transcript, &cancel, &mut host);
        // A provider can panic, too.
        let ended = AssertUnwindSafe(run.run(start)).catch_unwind().await;
        self.put_back(run.undelivered());
        let limit = run.limit;
        let failure = match ended {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.message().to_owned()),
            Err(panic) => Some(panic_text(&*panic)),
        };
        if let Some(error) = failure {
            host.fail(&model, error, limit).await;
        }
        host.outcome()
    }

    /// Puts messages back to the front of the queues that they were taken from.
    fn put_back(&self, messages: Vec<Incoming>) {
        let mut state = self.state();
        for message in messages.into_iter().rev() {
            if let Some(origin) = message.origin {
                state.queue(origin.queue).put_back(message);
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0.state)
    }

    fn listeners(&self) -> MutexGuard<'_, Vec<(u64, Arc<dyn Listener>)>> {
        lock(&self.0.listeners)
    }
}

/// A run in progress. Dropping it, also by dropping the future of `prompt`, ends the run.
struct Running {
    agent: Agent,
    cancel: CancelToken,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.cancel.cancel();
        let mut state = self.agent.state();
        state.running = None;
        state.pending_tool_calls.clear();
        drop(state);
        self.agent.0.idle.send_replace(true);
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("running", &self.is_running()).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Subscription").field(&self.id).finish()
    }
}
