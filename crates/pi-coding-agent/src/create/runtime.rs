//! The runtime: the current session, and the sessions that replace it: new, resumed, forked,
//! cloned, reloaded.
//!
//! Subscribers of the runtime receive the events of the current session, from the first event of
//! each session on, whichever session is the current one.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use pi_base::lock;
use pi_config::Project;
use pi_session::{ForkPosition, NewSession, Session, SessionError};
use pi_tools::Aftermath;
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::{CreateError, LoadedExtensions, Services};
use crate::Diagnostic;
use crate::extension::{
    BeforeFork, BeforeSwitch, DiscoverReason, ExtensionContext, ExtensionFailure, Registry,
    ResourcesDiscover, SwitchReason, UiUpdate,
};
use crate::session::{
    AgentSession, SessionEvent, SessionListener, ShutdownReason, StartReason, Subscribers,
    Subscription,
};
use crate::session_selector::{SelectSessionError, open_existing};

/// Reasons why the current session was not replaced.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplaceError {
    /// The other session cannot be read or written.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The other session cannot be resumed.
    #[error(transparent)]
    Selection(#[from] SelectSessionError),
    /// The other session cannot be built.
    #[error(transparent)]
    Build(#[from] CreateError),
    /// The log of a new session could not be filled; the text says why.
    #[error("{0}")]
    Preparation(String),
    /// The session has no entry that could be cloned.
    #[error("Cannot clone session: no current entry selected")]
    NothingToClone,
    /// The entry is not a message of the user.
    #[error("Invalid entry ID for forking")]
    NotForkable,
}

/// Result of replacing the session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replaced {
    /// An extension cancelled the replacement.
    pub cancelled: bool,
    /// Text of the message that a fork left out.
    pub text: Option<String>,
}

impl Replaced {
    fn cancelled() -> Self {
        Self { cancelled: true, text: None }
    }
}

/// The current session and its replacement. Clones are the same runtime.
#[derive(Clone)]
pub struct AgentRuntime(Arc<Inner>);

struct Inner {
    current: Mutex<AgentSession>,
    services: Mutex<Services>,
    subscribers: Subscribers,
    /// Held while a session is replaced or reloaded.
    replacing: tokio::sync::Mutex<()>,
    /// An extension asked the program to end.
    shutdown: watch::Sender<bool>,
}

/// A handle that does not keep the runtime alive. It is made before the runtime, so that the first
/// session can be given one.
#[derive(Clone, Default)]
pub struct WeakAgentRuntime(Arc<OnceLock<Weak<Inner>>>);

impl WeakAgentRuntime {
    /// Returns the runtime, if it exists.
    pub fn upgrade(&self) -> Option<AgentRuntime> {
        self.0.get()?.upgrade().map(AgentRuntime)
    }
}

impl ExtensionContext {
    /// Returns the runtime, which replaces the session: new, resumed, forked, reloaded.
    ///
    /// Replacing a session aborts the run and waits for its end. Inside a handler of an event or
    /// question that would wait for itself: call it from a command, or spawn a task.
    pub fn runtime(&self) -> Option<AgentRuntime> {
        self.handle::<WeakAgentRuntime>()?.upgrade()
    }
}

impl AgentRuntime {
    /// Creates a runtime around its first session, which was built with the same weak handle.
    pub(crate) fn new(session: AgentSession, services: Services, weak: &WeakAgentRuntime) -> Self {
        let subscribers = Subscribers::default();
        session.set_runtime_subscribers(Some(subscribers.clone()));
        let inner = Arc::new(Inner {
            current: Mutex::new(session),
            services: Mutex::new(services),
            subscribers,
            replacing: tokio::sync::Mutex::default(),
            shutdown: watch::Sender::new(false),
        });
        // A weak handle belongs to one runtime; a second one would be a mistake of the caller.
        let _ = weak.0.set(Arc::downgrade(&inner));
        Self(inner)
    }

    /// Returns the current session.
    pub fn session(&self) -> AgentSession {
        lock(&self.0.current).clone()
    }

    /// Returns the registry of the current session.
    pub fn registry(&self) -> Registry {
        self.session().extensions().registry().clone()
    }

    /// Calls `listener` for every event of the current session and of those that replace it.
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

    /// Starts a new session.
    pub async fn new_session(&self, parent: Option<PathBuf>) -> Result<Replaced, ReplaceError> {
        self.new_session_with(parent, |_| std::future::ready(Ok(()))).await
    }

    /// Starts a new session whose log a function fills before the session starts. If it fails, the
    /// session starts nevertheless, and the error is returned.
    pub async fn new_session_with<F>(
        &self,
        parent: Option<PathBuf>,
        prepare: impl FnOnce(AgentSession) -> F,
    ) -> Result<Replaced, ReplaceError>
    where
        F: Future<Output = Result<(), String>>,
    {
        let _replacing = self.0.replacing.lock().await;
        if !self.may_switch(SwitchReason::New, None).await {
            return Ok(Replaced::cancelled());
        }
        let (cwd, directory) = self
            .session()
            .with_log(|log| (log.cwd().to_owned(), log.directory().map(Path::to_owned)));
        let mut new = NewSession::new(cwd);
        (new.directory, new.parent) = (directory, parent);
        let log = Session::create(new)?;
        self.replace_with(log, ShutdownReason::New, StartReason::New, prepare).await?;
        Ok(Replaced::default())
    }

    /// Resumes another session.
    pub async fn switch_session(&self, path: &Path) -> Result<Replaced, ReplaceError> {
        let _replacing = self.0.replacing.lock().await;
        if !self.may_switch(SwitchReason::Resume, Some(path.to_owned())).await {
            return Ok(Replaced::cancelled());
        }
        let current = self.session();
        if current.file().as_deref() == Some(path) {
            // The file is open and locked by this session, which continues without what it was
            // doing or had queued.
            current.abort_bash();
            current.abort().await;
            current.drop_queued();
            return Ok(Replaced::default());
        }
        let cwd = current.with_log(|log| log.cwd().to_owned());
        let log = open_existing(path, &cwd)?;
        self.replace(log, ShutdownReason::Resume, StartReason::Resume).await?;
        Ok(Replaced::default())
    }

    /// Continues with a copy of the session up to an entry.
    pub async fn fork(
        &self,
        entry: &str,
        position: ForkPosition,
    ) -> Result<Replaced, ReplaceError> {
        let _replacing = self.0.replacing.lock().await;
        let session = self.session();
        let asked = session.ask(BeforeFork::new(entry.to_owned(), position)).await;
        if asked.answer.is_ok_and(|decision| decision.cancel) {
            return Ok(Replaced::cancelled());
        }
        let fork = session.with_log(|log| log.fork(entry, position));
        let fork = fork.map_err(|error| match error {
            SessionError::UnknownEntry(_) | SessionError::WrongKind { .. } => {
                ReplaceError::NotForkable
            }
            error => error.into(),
        })?;
        self.replace(fork.session, ShutdownReason::Fork, StartReason::Fork).await?;
        Ok(Replaced { cancelled: false, text: fork.text })
    }

    /// Continues with a copy of the current branch.
    pub async fn clone_session(&self) -> Result<Replaced, ReplaceError> {
        let leaf = self.session().with_log(|log| log.leaf_id().map(str::to_owned));
        let leaf = leaf.ok_or(ReplaceError::NothingToClone)?;
        let replaced = self.fork(&leaf, ForkPosition::At).await?;
        Ok(Replaced { text: None, ..replaced })
    }

    /// Reads settings, models, resources and extensions anew. The session continues with them at
    /// its next turn. Returns the problems that were found.
    pub async fn reload(&self) -> Vec<Diagnostic> {
        let _replacing = self.0.replacing.lock().await;
        let session = self.session();
        let reason = ShutdownReason::Reload;
        session.emit(SessionEvent::SessionShutdown { reason, target_session_file: None }).await;
        session.extension_context().interface().update(UiUpdate::Reset);
        let services = self.services().reloaded();
        let mut problems = services.diagnostics();
        let failures = session.extensions().reload(services.open_extensions()).await;
        session.bind_extensions();
        problems.extend(failures.iter().map(ExtensionFailure::diagnostic));
        session.report(failures).await;
        session.set_settings(services.session_settings());
        let guard = session.guard().map(|guard| &**guard);
        session.set_resources(services.loaded_resources(session.workspace().cwd(), guard));
        *lock(&self.0.services) = services;
        self.start(&session, StartReason::Reload, None).await;
        problems
    }

    /// Reads the settings again and nothing else, after one of them was changed. The session
    /// continues with them at its next turn.
    pub fn apply_settings(&self) {
        let services = self.services();
        services.reload_settings();
        self.session().set_settings(services.session_settings());
    }

    /// Returns the settings of the user and of a trusted project as one object, without defaults.
    pub fn settings_values(&self) -> Map<String, Value> {
        self.project().store().combined()
    }

    /// Returns the project of the current session, with the settings as they are now.
    pub fn project(&self) -> Project {
        self.services().project().clone()
    }

    /// Returns true if the settings and resources of the project apply.
    pub fn is_project_trusted(&self) -> bool {
        self.project().is_trusted()
    }

    /// Asks the program to end once the session is idle.
    pub fn request_shutdown(&self) {
        self.0.shutdown.send_replace(true);
    }

    /// Waits until [`Self::request_shutdown`] was called and the session is idle.
    pub async fn idle_after_shutdown_request(&self) {
        let mut requested = self.0.shutdown.subscribe();
        // The sender lives as long as `self`.
        let _ = requested.wait_for(|requested| *requested).await;
        self.session().wait_for_idle().await;
    }

    /// Ends the runtime: aborts the run, notifies extensions and removes saved output.
    pub async fn shut_down(&self) {
        let session = self.session();
        session.abort_bash();
        session.abort().await;
        session.stop_cache_warming();
        let reason = ShutdownReason::Quit;
        session.emit(SessionEvent::SessionShutdown { reason, target_session_file: None }).await;
        // The program may end while something still holds the session.
        session.workspace().bash().remove_saved();
        if let Some(models) = session.models() {
            models.finish_renewal().await;
        }
    }

    /// Examines what sandboxed commands left, after [`Self::shut_down`] and the last command.
    pub async fn finish_sandbox(&self) -> Aftermath {
        let Some(guard) = self.session().guard().cloned() else { return Aftermath::default() };
        let work = tokio::task::spawn_blocking(move || guard.finish_sandbox());
        work.await.unwrap_or_default()
    }

    async fn may_switch(&self, reason: SwitchReason, target: Option<PathBuf>) -> bool {
        let asked = self.session().ask(BeforeSwitch::new(reason, target)).await;
        !asked.answer.is_ok_and(|decision| decision.cancel)
    }

    async fn replace(
        &self,
        log: Session,
        shutdown: ShutdownReason,
        start: StartReason,
    ) -> Result<(), ReplaceError> {
        self.replace_with(log, shutdown, start, |_| std::future::ready(Ok(()))).await
    }

    async fn replace_with<F>(
        &self,
        log: Session,
        shutdown: ShutdownReason,
        start: StartReason,
        prepare: impl FnOnce(AgentSession) -> F,
    ) -> Result<(), ReplaceError>
    where
        F: Future<Output = Result<(), String>>,
    {
        let old = self.session();
        old.abort_bash();
        old.abort().await;
        let target_session_file = log.path().map(Path::to_owned);
        let previous = old.file();
        // The extensions of the old session end before those of the new one are loaded: what they
        // hold, such as a port, must be free.
        old.emit(SessionEvent::SessionShutdown { reason: shutdown, target_session_file }).await;
        old.extension_context().interface().update(UiUpdate::Reset);
        old.extensions().unload();
        let services = self.services();
        let (services, loaded) = match services.for_directory(log.cwd()).await {
            Some(others) => others,
            None => (services, LoadedExtensions::default()),
        };
        let built = match services.build_replacement(log, &self.downgrade(), loaded).await {
            Ok(built) => built,
            Err(error) => {
                // The old session continues.
                let failures = old.extensions().reload(self.services().open_extensions()).await;
                old.bind_extensions();
                old.report(failures).await;
                self.start(&old, StartReason::Resume, None).await;
                return Err(error.into());
            }
        };
        old.stop_cache_warming();
        old.workspace().bash().remove_saved();
        old.set_runtime_subscribers(None);
        let new = built.session;
        new.set_runtime_subscribers(Some(self.0.subscribers.clone()));
        *lock(&self.0.current) = new.clone();
        *lock(&self.0.services) = services;
        for diagnostic in &built.diagnostics {
            new.emit(SessionEvent::from_diagnostic(diagnostic, None)).await;
        }
        new.report(built.failures).await;
        let prepared = prepare(new.clone()).await;
        self.start(&new, start, previous).await;
        prepared.map_err(ReplaceError::Preparation)
    }

    /// Emits the start of a session and asks extensions for more resources.
    pub(crate) async fn start(
        &self,
        session: &AgentSession,
        reason: StartReason,
        previous_session_file: Option<PathBuf>,
    ) {
        session.emit(SessionEvent::SessionStart { reason, previous_session_file }).await;
        let discover = match reason {
            StartReason::Reload => DiscoverReason::Reload,
            _ => DiscoverReason::Startup,
        };
        let cwd = session.workspace().cwd().to_owned();
        let asked = session.ask(ResourcesDiscover::new(cwd, discover)).await;
        let found = asked.answer.unwrap_or_default();
        if found.is_empty() {
            return;
        }
        if !found.themes.is_empty() {
            let base = session.workspace().cwd();
            let paths = found.themes.iter().map(|path| base.join(path)).collect();
            session.extension_context().interface().update(UiUpdate::AddThemes { paths });
        }
        let services = self.services().with_discovered(found);
        let guard = session.guard().map(|guard| &**guard);
        session.set_resources(services.loaded_resources(session.workspace().cwd(), guard));
        *lock(&self.0.services) = services;
    }

    fn services(&self) -> Services {
        lock(&self.0.services).clone()
    }

    /// Returns a handle that does not keep the runtime alive.
    pub fn downgrade(&self) -> WeakAgentRuntime {
        let slot = OnceLock::new();
        let _ = slot.set(Arc::downgrade(&self.0));
        WeakAgentRuntime(Arc::new(slot))
    }
}

impl std::fmt::Debug for AgentRuntime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentRuntime").field("session", &self.session()).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for WeakAgentRuntime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WeakAgentRuntime")
    }
}
