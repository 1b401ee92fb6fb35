//! An agent: a transcript, a model, tools and queues behind one handle.
//!
//! The loop is in `run`; this is the state around it. The handle is cheap to clone and may be used
//! from several tasks: steer, abort or look while another waits for `prompt`. The state's lock is
//! never held while anything is awaited.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt as _;
use pi_protocol::{
    AgentMessage, CancelToken, History, ImageContent, Message, MessageContent, Model, Provider,
    SystemMessage, Transcript, UserBlock,
};
use tokio::sync::watch;

use crate::call::panic_text;
use crate::conversation::Conversation;
use crate::event::AgentEvent;
use crate::listener::{AsyncListener, FnListener, Heard, Listener, Scene};
use crate::outcome::Outcome;
use crate::queue::{Queue, QueueMode};
use crate::run::{QueueFn, Run, RunSettings};

use self::sink::AgentSink;

mod sink;

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
    conversation: Conversation,
    steering: Queue,
    follow_ups: Queue,
    running: Option<CancelToken>,
    pending_tool_calls: BTreeSet<String>,
    error: Option<String>,
}

/// Why an agent does not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
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
    /// There is nothing in the transcript.
    #[error("No messages to continue from")]
    NothingToContinue,
    /// The same, for the loop without an agent.
    #[error("Cannot continue: no messages in context")]
    EmptyContext,
    /// The model has the last word, and nothing is queued.
    #[error("Cannot continue from message role: assistant")]
    AssistantLast,
}

/// Removes its listener when dropped, unless it is kept with [`Subscription::forever`].
#[must_use = "dropping it removes the listener"]
pub struct Subscription {
    agent: Option<Agent>,
    id: u64,
}

impl Subscription {
    /// Keeps the listener for as long as the agent lives.
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
    /// An agent with an empty transcript.
    pub fn new(provider: Arc<dyn Provider>, settings: RunSettings) -> Self {
        Self::with_messages(provider, settings, "", [])
    }

    /// An agent with a system prompt and a transcript. Unless the transcript begins with a system
    /// message, one is put before it, with the prompt and the tools.
    pub fn with_messages(
        provider: Arc<dyn Provider>,
        settings: RunSettings,
        system_prompt: &str,
        messages: impl IntoIterator<Item = AgentMessage>,
    ) -> Self {
        let mut messages = messages.into_iter().peekable();
        let has_system = messages.peek().is_some_and(|message| message.role() == "system");
        let mut conversation = Conversation::new(settings.convert.clone(), []);
        if !has_system && (!system_prompt.is_empty() || !settings.tools.is_empty()) {
            let system = SystemMessage {
                content: MessageContent::Text(system_prompt.to_owned()),
                tools_added: settings.tools.iter().map(|t| t.declaration().clone()).collect(),
                ..SystemMessage::default()
            };
            conversation.push(Message::System(Arc::new(system)).into());
        }
        for message in messages {
            conversation.push(message);
        }
        let state = State {
            settings,
            conversation,
            steering: Queue::default(),
            follow_ups: Queue::default(),
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

    /// Says something to the agent and waits until it is done, listeners included.
    pub async fn prompt(&self, text: impl Into<String>) -> Result<Outcome, AgentError> {
        self.prompt_with_images(text, Vec::new()).await
    }

    /// Says something with images.
    pub async fn prompt_with_images(
        &self,
        text: impl Into<String>,
        images: Vec<ImageContent>,
    ) -> Result<Outcome, AgentError> {
        let mut blocks = vec![UserBlock::text(text)];
        blocks.extend(images.into_iter().map(UserBlock::Image));
        self.prompt_messages(vec![Message::user_blocks(blocks).into()]).await
    }

    /// Begins a run with these messages.
    pub async fn prompt_messages(
        &self,
        messages: Vec<AgentMessage>,
    ) -> Result<Outcome, AgentError> {
        let running = self.begin(AgentError::BusyPrompt)?;
        Ok(self.run(running, messages, true).await)
    }

    /// Goes on from where the transcript stands, or with what is queued if the model has the last
    /// word.
    pub async fn continue_run(&self) -> Result<Outcome, AgentError> {
        let running = self.begin(AgentError::BusyContinue)?;
        let (prompts, poll_first) = {
            let mut state = self.state();
            let messages = state.conversation.messages();
            if messages.iter().rev().all(|message| message.role() == "system") {
                return Err(AgentError::NothingToContinue);
            }
            let assistant_last = messages.last().is_some_and(|m| m.role() == "assistant");
            if assistant_last {
                let steering = state.steering.drain();
                if steering.is_empty() {
                    let follow_ups = state.follow_ups.drain();
                    if follow_ups.is_empty() {
                        return Err(AgentError::AssistantLast);
                    }
                    (follow_ups, true)
                } else {
                    // One at a time means one: the next waits for the next turn.
                    (steering, false)
                }
            } else {
                (Vec::new(), true)
            }
        };
        Ok(self.run(running, prompts, poll_first).await)
    }

    /// Queues a message for as soon as possible in the run.
    pub fn steer(&self, message: impl Into<AgentMessage>) {
        self.state().steering.push(message.into());
    }

    /// Queues a message for when the run would end.
    pub fn follow_up(&self, message: impl Into<AgentMessage>) {
        self.state().follow_ups.push(message.into());
    }

    /// Aborts the run, if there is one. Queues stay as they are.
    pub fn abort(&self) {
        let running = self.state().running.clone();
        if let Some(cancel) = running {
            cancel.cancel();
        }
    }

    /// Waits until no run is going on.
    pub async fn wait_for_idle(&self) {
        let mut idle = self.0.idle.subscribe();
        // The sender lives as long as this handle does.
        let _ = idle.wait_for(|idle| *idle).await;
    }

    /// Forgets the conversation, all but what the system messages add up to, and the queues.
    pub fn reset(&self) -> Result<(), AgentError> {
        let mut state = self.state();
        if state.running.is_some() {
            return Err(AgentError::BusyReset);
        }
        let declared = state.conversation.declared().clone();
        state.conversation.replace([]);
        if let Some(timestamp) = declared.timestamp {
            let sections = Some(declared.sections).filter(|sections| !sections.is_empty());
            let system = SystemMessage {
                content: MessageContent::Text(declared.content.join("\n\n")),
                sections,
                tools_added: declared.tools,
                timestamp,
                ..SystemMessage::default()
            };
            state.conversation.push(Message::System(Arc::new(system)).into());
        }
        state.steering.clear();
        state.follow_ups.clear();
        state.error = None;
        Ok(())
    }

    /// Calls `listener` for every event.
    pub fn subscribe(
        &self,
        listener: impl Fn(&AgentEvent, Scene<'_>) + Send + Sync + 'static,
    ) -> Subscription {
        self.add_listener(Arc::new(FnListener(listener)))
    }

    /// Calls and awaits `listener` for every event. Its failure is the run's.
    pub fn subscribe_async<F, Fut>(&self, listener: F) -> Subscription
    where
        F: Fn(AgentEvent, CancelToken) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Heard> + Send + 'static,
    {
        self.add_listener(Arc::new(AsyncListener(listener)))
    }

    /// Adds a listener.
    pub fn add_listener(&self, listener: Arc<dyn Listener>) -> Subscription {
        let id = self.0.next_listener.fetch_add(1, Ordering::Relaxed);
        self.listeners().push((id, listener));
        Subscription { agent: Some(self.clone()), id }
    }

    /// The transcript. A snapshot, and cheap.
    pub fn messages(&self) -> History<AgentMessage> {
        self.state().conversation.messages().clone()
    }

    /// Adds a message to the transcript. Takes effect with the next run.
    pub fn add_message(&self, message: impl Into<AgentMessage>) {
        self.state().conversation.push(message.into());
    }

    /// Replaces the transcript. Takes effect with the next run.
    pub fn set_messages(&self, messages: impl IntoIterator<Item = AgentMessage>) {
        let mut state = self.state();
        state.conversation = Conversation::new(state.settings.convert.clone(), messages);
    }

    /// Prompt sections and tools that the model has been told of.
    pub fn declared(&self) -> Transcript {
        self.state().conversation.declared().clone()
    }

    /// The system prompt in force.
    pub fn system_prompt(&self) -> String {
        self.state().conversation.declared().prompt()
    }

    /// Changes the settings. Takes effect with the next run.
    pub fn configure(&self, change: impl FnOnce(&mut RunSettings)) {
        change(&mut self.state().settings);
    }

    /// The model that the next run will ask.
    pub fn model(&self) -> Arc<Model> {
        Arc::clone(&self.state().settings.model)
    }

    /// A run is going on, or listeners are still busy with its end.
    pub fn is_running(&self) -> bool {
        self.state().running.is_some()
    }

    /// The calls that are being run.
    pub fn pending_tool_calls(&self) -> BTreeSet<String> {
        self.state().pending_tool_calls.clone()
    }

    /// The error of the last turn that failed, until the next run.
    pub fn error(&self) -> Option<String> {
        self.state().error.clone()
    }

    /// Sets how queued messages are taken: steering, then follow-ups.
    pub fn set_queue_modes(&self, steering: QueueMode, follow_ups: QueueMode) {
        let mut state = self.state();
        state.steering.mode = steering;
        state.follow_ups.mode = follow_ups;
    }

    /// What the next turn would take from the queues.
    pub fn peek_queued(&self) -> Vec<AgentMessage> {
        let state = self.state();
        let steering = state.steering.peek();
        if steering.is_empty() { state.follow_ups.peek() } else { steering }
    }

    /// Messages are queued.
    pub fn has_queued(&self) -> bool {
        let state = self.state();
        !state.steering.is_empty() || !state.follow_ups.is_empty()
    }

    /// Empties both queues.
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

    async fn run(&self, running: Running, prompts: Vec<AgentMessage>, poll_first: bool) -> Outcome {
        let (settings, conversation) = {
            let mut state = self.state();
            state.error = None;
            let mut settings = state.settings.clone();
            settings.steering = Some(self.queue(|state| &mut state.steering));
            settings.follow_ups = Some(self.queue(|state| &mut state.follow_ups));
            (settings, state.conversation.clone())
        };
        let model = Arc::clone(&settings.model);
        let provider = Arc::clone(&self.0.provider);
        let cancel = running.cancel.clone();
        let mut sink = AgentSink::new(self, cancel.clone());
        let mut run = Run::new(provider, settings, conversation, &cancel, &mut sink);
        // A provider may panic, too.
        let ended = AssertUnwindSafe(run.run(prompts, poll_first)).catch_unwind().await;
        let undelivered = run.undelivered();
        {
            let mut state = self.state();
            state.steering.put_back(undelivered.steering);
            state.follow_ups.put_back(undelivered.follow_ups);
        }
        let failure = match ended {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.0),
            Err(panic) => Some(panic_text(&*panic)),
        };
        if let Some(error) = failure {
            sink.fail(&model, error).await;
        }
        sink.outcome()
    }

    /// A queue for the loop, by a reference that does not keep the agent alive.
    fn queue(&self, which: fn(&mut State) -> &mut Queue) -> QueueFn {
        let inner = Arc::downgrade(&self.0);
        Arc::new(move || {
            let Some(inner) = inner.upgrade() else { return Vec::new() };
            let agent = Self(inner);
            let mut state = agent.state();
            which(&mut state).drain()
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listeners(&self) -> MutexGuard<'_, Vec<(u64, Arc<dyn Listener>)>> {
        self.0.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run that is going on. Dropping it, also by dropping the future of `prompt`, ends it.
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
