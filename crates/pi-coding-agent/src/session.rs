//! A session of the coding agent: it prompts, retries, compacts and persists.
//!
//! The session owns order and nothing else: which event is sent when, what is written when, what
//! follows a failure. Models are called by `pi-agent`, entries are stored by `pi-session`, and
//! tools, prompts and settings are handed in ([`SessionParts`]).
//!
//! State is kept by responsibility: `phase` is what the session is doing, `pending` the messages
//! that wait, `context` the part of the log that the model reads, `toolbox` the tools, `selection`
//! the model, its level and its tools, `subscribers` the listeners. The other files are operations:
//! `turn` is the entry point of front ends, `prompt` submits, `run` leads until everything is
//! settled, `collect` leads to a structured result, `loop_events` handles each
//! event of the loop, `provider_hooks` the requests, `loadout` their tools, `nested_calls` the calls
//! of tools by tools; then `retry`, `compact`, `shell`, `tree`, `queue`, `stats`, `cache_warming`
//! and `cache_health`.

mod cache_health;
mod cache_warming;
mod collect;
mod compact;
mod context;
mod extension_access;
mod fallback;
mod intervention;
mod loadout;
mod loop_events;
mod meter;
mod nested_calls;
mod output;
mod parts;
mod pending;
mod phase;
mod prompt;
mod provider_hooks;
mod providers;
mod queue;
mod rate_limits;
mod resume;
mod retry;
mod retrying_provider;
mod run;
mod selection;
mod settings;
mod shell;
mod stats;
mod subscribers;
mod toolbox;
mod tree;
mod turn;
mod virtual_model;

use std::any::Any;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

use pi_agent::{Agent, RunSettings};
use pi_base::lock;
use pi_models::ModelRegistry;
use pi_protocol::{AgentMessage, AssistantMessage, Entry, OutputSchema, Provider};
use pi_session::{Session, SessionError};
use pi_tools::Workspace;

pub use crate::event::{
    CompactionReason, CompactionResult, FallbackReason, Intervention, InterventionAction,
    InterventionSource, MessageDelta, ModelKey, ModelSource, SessionEvent, ShutdownReason,
    StartReason, SummarySource,
};
pub use crate::extension::{BashResult, StreamingBehavior};
pub use collect::{InvalidOutput, ResultCollector};
pub use compact::CompactError;
pub use meter::Meter;
pub use nested_calls::NestedCall;
pub use parts::{
    CommandInfo, CommandSource, ExpandFn, LoadedResources, PromptChange, PromptFn, SaveSettingFn,
    SessionParts,
};
pub use pending::QueuedTexts;
pub use prompt::{Disposition, PromptError, PromptOptions};
pub use queue::Delivery;
pub use rate_limits::ReportedLimits;
pub use run::Run;
pub use selection::no_model;
pub use selection::{CycleDirection, ModelCycle, ModelSelectError, Persistence, ScopedModel};
pub use settings::{
    CompactionGroup, CompactionOverride, RetrySettings, SessionSettings, SettingChange,
};
pub use shell::{BashError, BashOptions};
pub use stats::{ContextUsage, SessionTotals};
pub use subscribers::{SessionListener, Subscribers, Subscription};
pub use tree::{Navigation, NavigationError, NavigationResult, UserMessageInfo};
pub use turn::{BegunTurn, EndedTurn, RunUsage, Turn, failure_outcome};

pub use crate::output::{OutputContract, SUBMIT_RESULT, SchemaError, Violation};

use crate::extension::{
    Ask, Asked, Extension, ExtensionContext, ExtensionFailure, Extensions, NotifyKind, Ui,
};
use crate::guard::{EmitDecision, Guard};
use crate::tool_index::ToolIndex;
use cache_health::CacheHealth;
use cache_warming::CacheWarmer;
use context::ContextState;
use nested_calls::NestedCalls;
use pending::Pending;
use phase::Activity;
use provider_hooks::Chunks;
use providers::Providers;
use rate_limits::LimitLog;
use selection::Selection;
use shell::RunningCommands;
use toolbox::Toolbox;
use virtual_model::Routing;

/// A handle to a session; clones are the same session.
#[derive(Clone)]
pub struct AgentSession(Arc<Inner>);

/// A handle that does not keep the session alive. It can be made before the session, for parts that
/// the session is made from.
#[derive(Clone, Default)]
pub struct WeakAgentSession(Arc<OnceLock<Weak<Inner>>>);

impl WeakAgentSession {
    /// Returns the session, if it exists.
    pub fn upgrade(&self) -> Option<AgentSession> {
        self.0.get()?.upgrade().map(AgentSession)
    }

    /// Returns the function that emits the decisions of the session's guard.
    pub(crate) fn emit_decisions(&self) -> EmitDecision {
        let this = self.clone();
        Box::new(move |decision| {
            let this = this.clone();
            Box::pin(async move {
                if let Some(session) = this.upgrade() {
                    session.emit(SessionEvent::ToolDecision { decision }).await;
                }
            })
        })
    }
}

struct Inner {
    agent: Agent,
    /// The provider of requests outside of the loop.
    provider: Arc<dyn Provider>,
    meter: Meter,
    warmer: Arc<CacheWarmer>,
    cache_health: Mutex<CacheHealth>,
    routing: Mutex<Routing>,
    models: Option<Arc<ModelRegistry>>,
    workspace: Arc<Workspace>,
    toolbox: Toolbox,
    resources: Mutex<Arc<LoadedResources>>,
    prompt_change: Mutex<Option<PromptChange>>,
    save_setting: Option<SaveSettingFn>,
    extensions: Extensions,
    context: ExtensionContext,
    guard: Option<Arc<Guard>>,
    this: WeakAgentSession,
    log: Mutex<Session>,
    activity: Activity,
    pending: Mutex<Pending>,
    sync: Mutex<ContextState>,
    selection: Mutex<Selection>,
    settings: Mutex<SessionSettings>,
    commands: Mutex<RunningCommands>,
    nested_calls: Mutex<NestedCalls>,
    /// The search index, with the generation of the registry that it was built for.
    tool_index: Mutex<Option<(u64, Arc<ToolIndex>)>>,
    chunks: Chunks,
    limits: LimitLog,
    /// Subscribers of this session.
    subscribers: Subscribers,
    /// Subscribers of the runtime, while this is its current session.
    runtime_subscribers: Mutex<Option<Subscribers>>,
    guard_announced: Mutex<bool>,
    /// Constrains the answers of runs.
    output_schema: Mutex<Option<Arc<OutputSchema>>>,
}

impl AgentSession {
    /// Puts a session together. Its state is restored from the log; a new log begins with the
    /// model and the thinking level.
    pub fn new(mut parts: SessionParts) -> Result<Self, SessionError> {
        let outline = match parts.outline.take() {
            Some(outline) => outline,
            None => parts.session.outline()?,
        };
        let is_new = outline.message_count == 0;
        if let Some(model) = &parts.model
            && is_new
        {
            parts.session.append_model(&model.provider, &model.id)?;
        }
        if is_new || !parts.session.has_thinking_level() {
            parts.session.append_thinking_level(parts.thinking_level.as_str())?;
        }
        let registry = parts.extensions.registry().clone();
        let limits = LimitLog::default();
        let this = parts.this.clone();
        let warmer = Arc::new(CacheWarmer::new(this.clone()));
        let providers = Providers::new(&parts, &warmer, &limits);
        let model = parts.model.clone().unwrap_or_else(|| Arc::new(no_model()));
        let mut settings = RunSettings::new(model);
        settings.thinking_level = parts.thinking_level;
        settings.convert = Some(loop_events::convert(parts.settings.block_images));
        let agent = Agent::new(providers.of_runs, settings);
        let selection = Selection {
            model: parts.model,
            thinking_level: parts.thinking_level,
            scoped_models: parts.scoped_models,
            first_tools: parts.active_tools.clone(),
            active_tools: parts.active_tools,
        };
        let sync = ContextState::new(outline, parts.session.is_empty());
        let session = Self(Arc::new_cyclic(|own| {
            // The handle belongs to this session alone.
            let _ = this.0.set(own.clone());
            let context = ExtensionContext::new(
                parts.handles.with(this.clone()),
                Some(this.emit_event()),
                &registry,
                Arc::clone(&parts.ui),
                parts.mode,
            );
            Inner {
                agent,
                provider: providers.outside,
                meter: parts.meter,
                warmer,
                cache_health: Mutex::default(),
                routing: Mutex::default(),
                models: parts.models,
                toolbox: Toolbox::new(
                    parts.tools,
                    registry.clone(),
                    parts.tool_filter,
                    parts.guard.clone(),
                    Arc::clone(&parts.workspace),
                ),
                workspace: parts.workspace,
                resources: Mutex::new(Arc::new(parts.resources)),
                prompt_change: Mutex::default(),
                save_setting: parts.save_setting,
                extensions: parts.extensions,
                context,
                guard: parts.guard,
                this,
                log: Mutex::new(parts.session),
                activity: Activity::default(),
                pending: Mutex::default(),
                sync: Mutex::new(sync),
                selection: Mutex::new(selection),
                settings: Mutex::new(parts.settings),
                commands: Mutex::default(),
                nested_calls: Mutex::default(),
                tool_index: Mutex::default(),
                chunks: Chunks::default(),
                limits,
                subscribers: Subscribers::default(),
                runtime_subscribers: Mutex::default(),
                guard_announced: Mutex::default(),
                output_schema: Mutex::default(),
            }
        }));
        session.attach_to_loop();
        session.read_registry();
        if parts.restore_tools {
            session.restore_tools(&parts.tool_changes);
        }
        session.apply_settings();
        session.configure_workspace();
        session.bind_extensions();
        Ok(session)
    }

    /// Returns a handle that does not keep the session alive.
    pub fn downgrade(&self) -> WeakAgentSession {
        self.0.this.clone()
    }

    /// Returns true if both handles are the same session.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Calls `listener` for every event of this session. To follow the session that replaces it,
    /// subscribe to the [`AgentRuntime`](crate::AgentRuntime).
    pub fn subscribe(
        &self,
        listener: impl Fn(&SessionEvent) + Send + Sync + 'static,
    ) -> Subscription {
        self.0.subscribers.add_fn(listener)
    }

    /// Adds a listener that is awaited.
    pub fn add_listener(&self, listener: Arc<dyn SessionListener>) -> Subscription {
        self.0.subscribers.add(listener)
    }

    /// Sends the events of this session to the subscribers of the runtime, too; `None` stops.
    pub(crate) fn set_runtime_subscribers(&self, subscribers: Option<Subscribers>) {
        *lock(&self.0.runtime_subscribers) = subscribers;
    }

    /// Sends an event to extensions, then to subscribers.
    pub(crate) async fn emit(&self, event: SessionEvent) {
        let failures = self.0.extensions.notify(&event, &self.0.context).await;
        self.send(&event.without_partial()).await;
        self.report(failures).await;
    }

    /// Sends an event to subscribers.
    async fn send(&self, event: &SessionEvent) {
        let runtime = lock(&self.0.runtime_subscribers).clone();
        if let Some(subscribers) = runtime {
            subscribers.emit(event).await;
        }
        self.0.subscribers.emit(event).await;
    }

    /// Returns true if an event of progress reaches no one.
    fn is_unobserved(&self) -> bool {
        let runtime = lock(&self.0.runtime_subscribers).clone();
        !runtime.is_some_and(|subscribers| subscribers.wants_progress())
            && !self.0.subscribers.wants_progress()
            && !self.0.extensions.registry().wants_progress()
    }

    /// Asks all extensions and reports those that fail.
    pub(crate) async fn ask<Q: Ask>(&self, question: Q) -> Asked<Q> {
        let mut asked = self.0.extensions.ask(question, &self.0.context).await;
        self.report(std::mem::take(&mut asked.failures)).await;
        asked
    }

    /// Reports failures of extensions to subscribers.
    pub(crate) async fn report(&self, failures: Vec<ExtensionFailure>) {
        for failure in failures {
            let ExtensionFailure { extension, event, error, .. } = failure;
            self.send(&SessionEvent::ExtensionError { extension_path: extension, event, error })
                .await;
        }
    }

    /// Hands this session to its extensions.
    pub(crate) fn bind_extensions(&self) {
        self.0.extensions.bind(&self.0.context);
    }

    /// Returns the extensions.
    pub fn extensions(&self) -> &Extensions {
        &self.0.extensions
    }

    /// Returns the surroundings of extensions.
    pub fn extension_context(&self) -> &ExtensionContext {
        &self.0.context
    }

    fn ui(&self) -> &dyn Ui {
        &**self.0.context.interface()
    }

    /// Shows a warning to the user.
    fn warn(&self, message: impl Into<String>) {
        self.ui().notify(message, NotifyKind::Warning);
    }

    /// Shows an error to the user.
    fn notify_error(&self, message: impl Into<String>) {
        self.ui().notify(message, NotifyKind::Error);
    }

    /// Returns the slash commands of extensions, templates and skills.
    pub fn commands(&self) -> Vec<CommandInfo> {
        let registry = self.0.extensions.registry();
        let registered = registry.commands().into_iter();
        let extensions = registered.map(|found| CommandInfo {
            name: found.name,
            description: found.command.description,
            argument_hint: None,
            source: CommandSource::Extension,
            source_info: registry.source_info(&found.owner).unwrap_or_default(),
        });
        extensions.chain(self.resources().commands.iter().cloned()).collect()
    }

    /// Returns the resources that a reload replaces.
    fn resources(&self) -> Arc<LoadedResources> {
        Arc::clone(&lock(&self.0.resources))
    }

    /// Replaces the resources, for the next turn on.
    pub(crate) fn set_resources(&self, resources: LoadedResources) {
        *lock(&self.0.resources) = Arc::new(resources);
        self.configure_workspace();
    }

    /// Returns the loop.
    pub fn agent(&self) -> &Agent {
        &self.0.agent
    }

    /// Returns the guard, which decides what tools may do.
    pub fn guard(&self) -> Option<&Arc<Guard>> {
        self.0.guard.as_ref()
    }

    /// Returns the extension of this type, if the session has it.
    pub fn find_extension<T: Extension>(&self) -> Option<Arc<T>> {
        let extensions = self.0.extensions.registry().extensions().into_iter();
        extensions
            .map(|one| -> Arc<dyn Any + Send + Sync> { one })
            .find_map(|one| one.downcast().ok())
    }

    /// Returns the directory and executor of the tools.
    pub fn workspace(&self) -> &Arc<Workspace> {
        &self.0.workspace
    }

    /// Gives access to the log. The closure must not call back into the session.
    pub fn with_log<T>(&self, access: impl FnOnce(&mut Session) -> T) -> T {
        access(&mut self.log())
    }

    /// Returns the id of the session.
    pub fn id(&self) -> String {
        self.log().id().to_owned()
    }

    /// Returns the file of the session, if it is stored.
    pub fn file(&self) -> Option<PathBuf> {
        self.log().path().map(ToOwned::to_owned)
    }

    /// Returns the name of the session.
    pub fn name(&self) -> Option<String> {
        self.log().name().map(ToOwned::to_owned)
    }

    /// Emits an entry that is not a message.
    async fn entry_appended(&self, id: &str) -> Result<Arc<Entry>, SessionError> {
        let entry = Arc::new(self.log().entry(id)?);
        self.emit(SessionEvent::EntryAppended { entry: Arc::clone(&entry) }).await;
        Ok(entry)
    }

    /// Returns true during a run, retries and compactions included.
    pub fn is_streaming(&self) -> bool {
        self.0.activity.is_running()
    }

    /// Returns true while the session is compacted or a branch is summarized.
    pub fn is_compacting(&self) -> bool {
        self.0.activity.is_compacting()
    }

    /// Waits until the session is idle.
    pub async fn wait_for_idle(&self) {
        self.0.activity.wait_for_idle().await;
    }

    fn log(&self) -> MutexGuard<'_, Session> {
        lock(&self.0.log)
    }

    fn sync(&self) -> MutexGuard<'_, ContextState> {
        lock(&self.0.sync)
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        lock(&self.0.pending)
    }

    fn selection(&self) -> MutexGuard<'_, Selection> {
        lock(&self.0.selection)
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

/// Returns the last answer among messages.
fn last_answer<'a>(
    messages: impl DoubleEndedIterator<Item = &'a AgentMessage>,
) -> Option<&'a Arc<AssistantMessage>> {
    messages.rev().find_map(AgentMessage::as_assistant)
}
