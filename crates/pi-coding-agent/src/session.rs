//! A session of the coding agent: a conversation that prompts, retries, compacts and persists.
//!
//! It owns order and nothing else: what is announced to whom, what is written when, what follows
//! a failure. Models are asked by `pi-agent`, entries are kept by `pi-session`, and what tools,
//! prompts and settings are is handed in ([`SessionParts`]).
//!
//! `prompt` is the way in, `run` what happens until everything is settled, `listen` what becomes
//! of each event. `retry`, `compact`, `shell`, `choose`, `tree` and `stats` are the rest.

mod announce;
mod choose;
mod compact;
mod event;
mod listen;
mod parts;
mod patient;
mod prompt;
mod queue;
mod retry;
mod run;
mod settings;
mod shell;
mod stats;
mod tree;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use pi_agent::{Agent, AgentTool, BoxFuture, RunSettings};
use pi_protocol::{
    AgentMessage, CancelToken, Declarations, Entry, History, Model, Provider, StreamOptions,
    ThinkingLevel,
};
use pi_session::compaction::CompactionAttempts;
use pi_session::{Outline, Session, SessionError};
use pi_tools::Workspace;
use serde_json::json;
use tokio::sync::watch;

pub use choose::{ChooseError, ModelCycle, ScopedModel};
pub use compact::CompactError;
pub use event::{CompactionReason, CompactionResult, LoopEvent, SessionEvent, SessionNews};
pub use parts::{CommandInfo, ExpandFn, SectionsFn, SessionParts};
pub use prompt::{Disposition, PromptError, PromptOptions, StreamingBehavior, Submitted};
pub use queue::Delivery;
pub use run::Run;
pub use settings::{RetrySettings, SessionSettings, SettingChange};
pub use shell::{BashError, BashOptions, BashResult};
pub use stats::{ContextUsage, SessionTotals};
pub use tree::{Navigation, NavigationError, NavigationResult};

use crate::extension::{ExtensionContext, Extensions, Ui};
use crate::guard::{Guard, Guarded};
use crate::models::ModelRegistry;

/// A handle to a session; clones are the same session.
#[derive(Clone)]
pub struct AgentSession(Arc<Inner>);

/// A handle that does not keep the session alive.
#[derive(Clone, Default)]
pub struct WeakAgentSession(Weak<Inner>);

impl WeakAgentSession {
    /// The session, if it is still there.
    pub fn upgrade(&self) -> Option<AgentSession> {
        self.0.upgrade().map(AgentSession)
    }
}

struct Inner {
    agent: Agent,
    provider: Arc<dyn Provider>,
    models: Option<Arc<ModelRegistry>>,
    auto_resize_images: bool,
    workspace: Arc<Workspace>,
    tools: Vec<Arc<dyn AgentTool>>,
    sections: SectionsFn,
    expand: ExpandFn,
    commands: Vec<CommandInfo>,
    save_setting: Option<Arc<dyn Fn(&SettingChange) + Send + Sync>>,
    options: StreamOptions,
    extensions: Extensions,
    ui: Arc<dyn Ui>,
    guard: Option<Arc<Guard>>,
    this: WeakAgentSession,
    session: Mutex<Session>,
    state: Mutex<State>,
    listeners: Mutex<Listeners>,
    busy: watch::Sender<bool>,
}

#[derive(Default)]
struct Listeners {
    next: u64,
    all: Vec<(u64, Arc<dyn SessionListener>)>,
}

/// What changes while the session lives.
struct State {
    model: Option<Arc<Model>>,
    thinking_level: ThinkingLevel,
    scoped_models: Vec<ScopedModel>,
    active_tools: Vec<String>,
    settings: SessionSettings,
    /// A run is going on, from before its first request until it is settled.
    running: bool,
    abort_requested: bool,
    steering: Vec<String>,
    follow_ups: Vec<String>,
    /// Messages that go with the next prompt.
    next_turn: Vec<AgentMessage>,
    /// Messages that wait for the end of the turn.
    at_turn_end: Vec<AgentMessage>,
    retry_attempt: u32,
    retry_pause: Option<CancelToken>,
    recovery_attempted: bool,
    compaction: Option<CancelToken>,
    /// The compaction was asked for by the user.
    compacting_manually: bool,
    tries: CompactionAttempts,
    /// The entries of the last turn: the answer, then the results of its calls.
    last_turn_entries: Vec<String>,
    /// When the branch was last compacted, in milliseconds; unknown until somebody looked.
    compacted_at: Option<Option<f64>>,
    /// The context was edited since the provider last counted.
    edited: bool,
    bash: Vec<(u64, CancelToken)>,
    next_bash: u64,
    /// Results of commands that ended during a run.
    pending_bash: Vec<AgentMessage>,
    forced_prompt: Option<String>,
    /// What the conversation amounts to, until its messages have been read.
    unread: Option<Outline>,
    /// The conversation has changed in a way that the run does not know of.
    diverged: bool,
    /// What holds was told.
    guard_told: bool,
}

/// Hears what happens in a session, one event after the other; the session waits for it.
pub trait SessionListener: Send + Sync {
    /// Hears an event.
    fn hear<'a>(&'a self, event: &'a SessionEvent<'a>) -> BoxFuture<'a, ()>;
}

struct FnListener<F>(F);

impl<F: Fn(&SessionEvent<'_>) + Send + Sync> SessionListener for FnListener<F> {
    fn hear<'a>(&'a self, event: &'a SessionEvent<'a>) -> BoxFuture<'a, ()> {
        (self.0)(event);
        Box::pin(std::future::ready(()))
    }
}

/// Removes its listener when dropped, unless it is kept with [`Listening::forever`].
#[must_use = "dropping it removes the listener"]
pub struct Listening {
    session: Option<WeakAgentSession>,
    id: u64,
}

impl Listening {
    /// Keeps the listener for as long as the session lives.
    pub fn forever(mut self) {
        self.session = None;
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(session) = self.session.take().and_then(|session| session.upgrade()) {
            lock(&session.0.listeners).all.retain(|(id, _)| *id != self.id);
        }
    }
}

impl AgentSession {
    /// Puts a session together. What is in the conversation already is restored from it; a new
    /// conversation begins with its model and thinking level.
    pub fn new(parts: SessionParts) -> Result<Self, SessionError> {
        let mut session = parts.session;
        let outline = session.outline()?;
        let is_new = outline.message_count == 0;
        if let Some(model) = parts.model.as_ref().filter(|_| is_new) {
            session.append_model(&model.provider, &model.id)?;
        }
        if is_new || !session.has_thinking_level() {
            session.append_thinking_level(parts.thinking_level.as_str())?;
        }
        let model = parts.model.clone().unwrap_or_else(|| Arc::new(no_model()));
        let mut settings = RunSettings::new(model);
        settings.thinking_level = parts.thinking_level;
        settings.convert = Some(listen::convert(parts.settings.block_images));
        let agent = Agent::new(Arc::clone(&parts.provider), settings);
        let state = State {
            model: parts.model,
            thinking_level: parts.thinking_level,
            scoped_models: parts.scoped_models,
            active_tools: parts.active_tools,
            settings: parts.settings,
            running: false,
            abort_requested: false,
            steering: Vec::new(),
            follow_ups: Vec::new(),
            next_turn: Vec::new(),
            at_turn_end: Vec::new(),
            retry_attempt: 0,
            retry_pause: None,
            recovery_attempted: false,
            compaction: None,
            compacting_manually: false,
            tries: CompactionAttempts::default(),
            last_turn_entries: Vec::new(),
            compacted_at: session.is_empty().then_some(None),
            edited: false,
            bash: Vec::new(),
            next_bash: 0,
            pending_bash: Vec::new(),
            forced_prompt: None,
            unread: Some(outline),
            diverged: false,
            guard_told: false,
        };
        let extension_tools = parts.extensions.tools();
        let replaced = |tool: &Arc<dyn AgentTool>| {
            let name = &tool.declaration().name;
            extension_tools.iter().any(|other| other.declaration().name == *name)
        };
        let mut tools: Vec<_> = parts.tools.into_iter().filter(|tool| !replaced(tool)).collect();
        tools.extend(extension_tools.iter().map(|tool| match &parts.guard {
            Some(guard) => Guarded::wrap(Arc::clone(tool), guard, &parts.workspace, false),
            None => Arc::clone(tool),
        }));
        let session = Self(Arc::new_cyclic(|this| Inner {
            agent,
            provider: parts.provider,
            models: parts.models,
            auto_resize_images: parts.auto_resize_images,
            workspace: parts.workspace,
            tools,
            sections: parts.sections,
            expand: parts.expand,
            commands: parts.commands,
            save_setting: parts.save_setting,
            options: parts.options,
            extensions: parts.extensions,
            ui: parts.ui,
            guard: parts.guard,
            this: WeakAgentSession(this.clone()),
            session: Mutex::new(session),
            state: Mutex::new(state),
            listeners: Mutex::default(),
            busy: watch::Sender::new(false),
        }));
        session.install();
        if parts.restore_tools {
            session.restore_tools();
        }
        session.apply_settings();
        session.tell_workspace();
        Ok(session)
    }

    /// A handle that does not keep it alive.
    pub fn downgrade(&self) -> WeakAgentSession {
        self.0.this.clone()
    }

    /// Calls `listener` for every event.
    pub fn subscribe(
        &self,
        listener: impl Fn(&SessionEvent<'_>) + Send + Sync + 'static,
    ) -> Listening {
        self.add_listener(Arc::new(FnListener(listener)))
    }

    /// Adds a listener that is awaited.
    pub fn add_listener(&self, listener: Arc<dyn SessionListener>) -> Listening {
        let mut listeners = lock(&self.0.listeners);
        listeners.next += 1;
        let id = listeners.next;
        listeners.all.push((id, listener));
        Listening { session: Some(self.downgrade()), id }
    }

    /// Tells all who listen.
    async fn emit(&self, event: &SessionEvent<'_>) {
        let listeners: Vec<_> =
            lock(&self.0.listeners).all.iter().map(|(_, listener)| Arc::clone(listener)).collect();
        for listener in listeners {
            listener.hear(event).await;
        }
    }

    async fn news(&self, news: SessionNews<'_>) {
        self.emit(&SessionEvent::Session(news)).await;
    }

    /// Who takes part.
    pub fn extensions(&self) -> &Extensions {
        &self.0.extensions
    }

    /// What extensions are given.
    pub fn extension_context(&self) -> ExtensionContext {
        ExtensionContext { session: self.downgrade(), ui: Arc::clone(&self.0.ui) }
    }

    /// The slash commands there are: of extensions, templates, skills.
    pub fn commands(&self) -> Vec<CommandInfo> {
        let of_extension =
            |(command, path): (crate::extension::ExtensionCommand, String)| CommandInfo {
                name: command.name,
                description: command.description,
                source: "extension",
                source_info: json!({
                    "path": path, "source": path, "scope": "user", "origin": "top-level",
                }),
            };
        let extensions = self.0.extensions.commands().into_iter().map(of_extension);
        extensions.chain(self.0.commands.iter().cloned()).collect()
    }

    /// The loop behind it.
    pub fn agent(&self) -> &Agent {
        &self.0.agent
    }

    /// What the tools may do.
    pub fn guard(&self) -> Option<&Arc<Guard>> {
        self.0.guard.as_ref()
    }

    /// Where tools work.
    pub fn workspace(&self) -> &Arc<Workspace> {
        &self.0.workspace
    }

    /// Looks at the conversation's entries. The closure must not call back into the session.
    pub fn with_entries<T>(&self, look: impl FnOnce(&mut Session) -> T) -> T {
        look(&mut self.entries())
    }

    /// The id of the conversation.
    pub fn id(&self) -> String {
        self.entries().id().to_owned()
    }

    /// The file of the conversation, if it is kept.
    pub fn file(&self) -> Option<PathBuf> {
        self.entries().path().map(ToOwned::to_owned)
    }

    /// The name of the conversation.
    pub fn name(&self) -> Option<String> {
        self.entries().name().map(ToOwned::to_owned)
    }

    /// The messages that the model reads. A snapshot, and cheap, once they have been read.
    pub fn messages(&self) -> History<AgentMessage> {
        if let Err(error) = self.read() {
            self.0.ui.notify(&format!("The conversation cannot be read: {error}"), "error");
        }
        self.0.agent.messages()
    }

    /// How many messages the model reads. Known without reading them.
    pub fn message_count(&self) -> usize {
        let unread = self.state().unread.as_ref().map(|outline| outline.message_count);
        unread.unwrap_or_else(|| self.0.agent.messages().len())
    }

    /// Prompt sections and tools that the model has been told of.
    fn declared(&self) -> Declarations {
        let unread = self.state().unread.as_ref().map(|outline| outline.declared.clone());
        unread.unwrap_or_else(|| self.0.agent.declared())
    }

    /// Reads the messages of the conversation, unless that was done.
    fn read(&self) -> Result<(), SessionError> {
        if self.state().unread.is_some() { self.refresh() } else { Ok(()) }
    }

    /// Adds a message that was appended to the conversation outside of the loop.
    fn added(&self, message: AgentMessage) {
        let mut state = self.state();
        match &mut state.unread {
            Some(outline) => outline.message_count += 1,
            None => self.0.agent.add_message(message),
        }
        state.diverged = true;
    }

    /// A run is going on, retries and compactions included.
    pub fn is_streaming(&self) -> bool {
        self.state().running
    }

    /// The session is being compacted, or a branch summarised.
    pub fn is_compacting(&self) -> bool {
        self.state().compaction.is_some()
    }

    /// Waits until nothing is going on.
    pub async fn wait_for_idle(&self) {
        let mut busy = self.0.busy.subscribe();
        // The sender lives as long as this handle does.
        let _ = busy.wait_for(|busy| !busy).await;
    }

    /// Stops the run, a pause before a retry, a compaction, and waits until nothing is going on.
    /// What is queued stays queued.
    pub async fn abort(&self) {
        let (pause, compaction) = {
            let mut state = self.state();
            state.abort_requested = state.running;
            (state.retry_pause.clone(), state.compaction.clone())
        };
        for token in [pause, compaction].into_iter().flatten() {
            token.cancel();
        }
        self.0.agent.abort();
        self.wait_for_idle().await;
    }

    /// Makes the loop read the conversation anew, after an entry changed the past.
    fn refresh(&self) -> Result<(), SessionError> {
        let messages = self.entries().context()?.messages;
        self.0.agent.set_messages(messages.iter().cloned());
        let mut state = self.state();
        state.unread = None;
        state.diverged = true;
        Ok(())
    }

    /// Tells of an entry that is not a message.
    async fn appended(&self, id: &str) -> Result<Entry, SessionError> {
        let entry = self.entries().entry(id)?;
        self.news(SessionNews::EntryAppended { entry: &entry }).await;
        Ok(entry)
    }

    fn entries(&self) -> MutexGuard<'_, Session> {
        lock(&self.0.session)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0.state)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stands where there is no model; it is never asked.
pub(crate) fn no_model() -> Model {
    let unknown = || "unknown".to_owned();
    Model {
        id: unknown(),
        name: unknown(),
        api: unknown(),
        provider: unknown(),
        ..Model::default()
    }
}

impl std::fmt::Debug for AgentSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentSession").field("id", &self.id()).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for WeakAgentSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WeakAgentSession")
    }
}

impl std::fmt::Debug for Listening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Listening").field(&self.id).finish()
    }
}
