//! An open session of a host: its runtime, its clients, its feed.
//!
//! The guard, the directories and the MCP servers belong to a runtime from its start. To change
//! them, the session is opened anew: clients and readers of the feed stay attached.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pi_base::lock;
use pi_coding_agent::extension::NotifyKind;
use pi_coding_agent::guard::Approvals;
use pi_coding_agent::session::{Persistence, SessionListener, Subscribers, Subscription};
use pi_coding_agent::{AgentRuntime, AgentSession, SessionSelector};
use pi_protocol::{Model, ThinkingLevel};
use serde_json::to_value;
use tokio::sync::OwnedMutexGuard;

use crate::feed::Feed;
use crate::open::{OpenError, OpenPlan, OpenRequest, Opened, Opener};
use crate::ui_hub::UiHub;

/// Type of the log entries that record who answered a question.
pub const ANSWER_ENTRY: &str = "pi:answer";

/// An open session.
pub struct Hosted {
    id: String,
    hub: UiHub,
    feed: Feed,
    listeners: Subscribers,
    approvals: Approvals,
    opener: Opener,
    /// Held while a prompt is answered or the session is opened anew.
    turn: Arc<tokio::sync::Mutex<()>>,
    state: Mutex<State>,
    used: Mutex<Instant>,
}

/// The runtime of a session, as far as there is one.
enum State {
    Live { runtime: AgentRuntime, plan: Arc<OpenPlan> },
    Reopening,
    Closed,
}

/// What the user should know about a session that was opened.
pub type Notices = Vec<String>;

impl Hosted {
    pub(crate) async fn open(
        opener: Opener,
        hub: UiHub,
        selector: SessionSelector,
        plan: OpenPlan,
    ) -> Result<(Arc<Self>, Notices), OpenError> {
        let approvals = Approvals::default();
        let request = OpenRequest {
            session: selector,
            plan: plan.clone(),
            ui: Arc::new(hub.clone()),
            approvals: approvals.clone(),
        };
        let Opened { runtime, notices } = opener(request).await?;
        record_answers(&hub, &runtime);
        let listeners = Subscribers::default();
        runtime.add_listener(Arc::new(listeners.clone())).forever();
        let hosted = Self {
            id: runtime.session().id(),
            feed: Feed::new(&runtime),
            listeners,
            hub,
            approvals,
            opener,
            turn: Arc::default(),
            state: Mutex::new(State::Live { runtime, plan: Arc::new(plan) }),
            used: Mutex::new(Instant::now()),
        };
        Ok((Arc::new(hosted), notices))
    }

    /// Returns the id for clients: that of the log when the session was opened.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the id of the current log.
    pub fn log_id(&self) -> String {
        self.feed.log_id()
    }

    /// Returns the runtime.
    pub fn runtime(&self) -> Result<AgentRuntime, OpenError> {
        self.live().map(|(runtime, _)| runtime)
    }

    /// Returns the current session of the runtime.
    pub fn session(&self) -> Result<AgentSession, OpenError> {
        Ok(self.runtime()?.session())
    }

    /// Returns the properties with which the session was opened.
    pub fn plan(&self) -> Result<Arc<OpenPlan>, OpenError> {
        self.live().map(|(_, plan)| plan)
    }

    /// Returns the feed of the session.
    pub fn feed(&self) -> &Feed {
        &self.feed
    }

    /// Returns the user interface, to which clients attach and through which questions reach all of
    /// them.
    pub fn ui(&self) -> &UiHub {
        &self.hub
    }

    /// Adds a listener of events that stays when the session is opened anew. The session waits for
    /// it: a listener that passes events to a client gathers them.
    pub fn add_listener(&self, listener: Arc<dyn SessionListener>) -> Subscription {
        self.listeners.add(listener)
    }

    /// Waits for the turn to use the session: to answer a prompt, or to change it.
    pub async fn turn(&self) -> OwnedMutexGuard<()> {
        let turn = Arc::clone(&self.turn).lock_owned().await;
        self.touch();
        turn
    }

    /// Takes the turn if no other task has it.
    pub fn try_turn(&self) -> Option<OwnedMutexGuard<()>> {
        let turn = Arc::clone(&self.turn).try_lock_owned().ok();
        self.touch();
        turn
    }

    /// Returns true if the session runs, or a task has its turn.
    pub fn is_busy(&self) -> bool {
        let is_running = self.session().is_ok_and(|session| session.is_streaming());
        is_running || self.turn.try_lock().is_err()
    }

    /// Returns true if nothing of the session is left but its log.
    pub fn is_closed(&self) -> bool {
        matches!(*lock(&self.state), State::Closed)
    }

    /// Returns the time since the session was used; `None` while it is busy, or a client or an open
    /// question needs it.
    pub fn idle_time(&self) -> Option<Duration> {
        let is_needed = self.hub.clients() > 0 || !self.hub.open_questions().is_empty();
        if is_needed || self.is_busy() {
            self.touch();
            return None;
        }
        Some(lock(&self.used).elapsed())
    }

    /// Opens the session anew, with other properties, for the holder of the turn. If that fails, it
    /// is opened as it was before.
    pub async fn reopen(
        self: &Arc<Self>,
        plan: OpenPlan,
        turn: OwnedMutexGuard<()>,
    ) -> (Notices, Result<(), OpenError>) {
        let this = Arc::clone(self);
        // A task of its own: a request that is cancelled does not leave half a session.
        let opening = tokio::spawn(async move {
            let opened = this.replace(plan).await;
            drop(turn);
            opened
        });
        opening.await.unwrap_or_else(|error| {
            *lock(&self.state) = State::Closed;
            let problem = format!("opening the session anew: {error}");
            (Notices::new(), Err(OpenError::Failed(problem)))
        })
    }

    async fn replace(&self, plan: OpenPlan) -> (Notices, Result<(), OpenError>) {
        let (runtime, before) = {
            let mut state = lock(&self.state);
            match std::mem::replace(&mut *state, State::Reopening) {
                State::Live { runtime, plan } => (runtime, plan),
                other => {
                    *state = other;
                    return (Notices::new(), Err(self.unavailable()));
                }
            }
        };
        let kept = Kept::of(&runtime.session());
        runtime.shut_down().await;
        // The log is locked until then.
        drop(runtime);
        match self.start(&kept, plan).await {
            Ok(notices) => (notices, Ok(())),
            Err(failure) => match self.start(&kept, (*before).clone()).await {
                Ok(notices) => (notices, Err(failure)),
                Err(_) => {
                    *lock(&self.state) = State::Closed;
                    self.feed.close();
                    (Notices::new(), Err(failure))
                }
            },
        }
    }

    /// Opens a runtime for the session and makes it the current one.
    async fn start(&self, kept: &Kept, plan: OpenPlan) -> Result<Notices, OpenError> {
        let request = OpenRequest {
            session: kept.selector.clone(),
            plan: plan.clone(),
            ui: Arc::new(self.hub.clone()),
            approvals: self.approvals.clone(),
        };
        let Opened { runtime, mut notices } = (self.opener)(request).await?;
        record_answers(&self.hub, &runtime);
        runtime.add_listener(Arc::new(self.listeners.clone())).forever();
        notices.extend(kept.restore(&runtime.session()).await);
        self.feed.follow(&runtime);
        *lock(&self.state) = State::Live { runtime, plan: Arc::new(plan) };
        Ok(notices)
    }

    /// Ends the session. Its log stays; readers of the feed get the rest of it.
    pub(crate) async fn close(self: &Arc<Self>) {
        let this = Arc::clone(self);
        // A task of its own: a request that is cancelled does not leave half a session.
        let closing = tokio::spawn(async move {
            let ended = this.session().ok();
            if let Ok(runtime) = this.runtime() {
                runtime.shut_down().await;
            }
            // A run ends before it gives up its turn.
            let _turn = this.turn.lock().await;
            let state = std::mem::replace(&mut *lock(&this.state), State::Closed);
            this.feed.close();
            if let State::Live { runtime, .. } = state
                && !ended.is_some_and(|ended| ended.is(&runtime.session()))
            {
                // The session was opened anew meanwhile.
                runtime.shut_down().await;
            }
        });
        // A task that panicked has left nothing to close.
        let _ = closing.await;
    }

    fn live(&self) -> Result<(AgentRuntime, Arc<OpenPlan>), OpenError> {
        match &*lock(&self.state) {
            State::Live { runtime, plan } => return Ok((runtime.clone(), Arc::clone(plan))),
            State::Reopening => return Err(OpenError::Reopening),
            State::Closed => {}
        }
        Err(self.unavailable())
    }

    fn unavailable(&self) -> OpenError {
        OpenError::NotFound(format!("the session {} is not open", self.id))
    }

    fn touch(&self) {
        *lock(&self.used) = Instant::now();
    }
}

impl std::fmt::Debug for Hosted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hosted").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Records in the log of the current session who answered a question.
fn record_answers(hub: &UiHub, runtime: &AgentRuntime) {
    let runtime = runtime.downgrade();
    hub.set_recorder(Arc::new(move |answered| {
        let (Some(runtime), Ok(data)) = (runtime.upgrade(), to_value(answered)) else { return };
        tokio::spawn(async move {
            let session = runtime.session();
            if let Err(error) = session.append_entry(ANSWER_ENTRY, Some(data)).await {
                let problem = format!("The client that answered was not recorded: {error}");
                session.extension_context().ui().notify(&problem, NotifyKind::Error);
            }
        });
    }));
}

/// What a session keeps when it is opened anew.
struct Kept {
    selector: SessionSelector,
    model: Option<Arc<Model>>,
    thinking: ThinkingLevel,
}

impl Kept {
    fn of(session: &AgentSession) -> Self {
        let saved = session.with_log(|log| log.is_saved()).then(|| session.file()).flatten();
        let selector = match saved {
            Some(file) => SessionSelector::Existing(file.to_string_lossy().into_owned()),
            // Ids are searched in the directory of one working directory only, which is no problem
            // for a log that is not stored yet.
            None => SessionSelector::WithId(session.id()),
        };
        Self { selector, model: session.model(), thinking: session.thinking_level() }
    }

    /// Selects the model and the thinking level again: a log that is not saved does not have them,
    /// and the options of the program may say something else. Returns what could not be selected.
    async fn restore(&self, session: &AgentSession) -> Notices {
        let mut problems = Vec::new();
        let same =
            |one: &Model, other: &Model| one.provider == other.provider && one.id == other.id;
        if let Some(model) = &self.model
            && !session.model().is_some_and(|now| same(&now, model))
        {
            let found = session.look_up_model(&model.provider, &model.id).await;
            let set = match found {
                Ok(model) => session.set_model(model, Persistence::Session).await,
                Err(error) => Err(error),
            };
            if let Err(error) = set {
                problems.push(format!("the model {} is not selected: {error}", model.id));
            }
        }
        let set = session.set_thinking_level(self.thinking, Persistence::Session).await;
        if let Err(error) = set {
            problems.push(format!("the thinking level is not {}: {error}", self.thinking.as_str()));
        }
        problems
    }
}
