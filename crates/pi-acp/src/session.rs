//! One session of a client: what is open of it, its settings and its end.
//!
//! `start` opens the parts, `anew` replaces them, `turn` answers prompts.

mod anew;
mod start;
mod turn;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use pi_base::lock;
use pi_coding_agent::guard::Approvals;
use pi_coding_agent::session::Subscription;
use pi_coding_agent::{AgentRuntime, AgentSession, SessionSelector};
use pi_config::mcp::ConfiguredServer;
use pi_jsonrpc::Error;
use pi_protocol::CancelToken;
use serde_json::Value;

use crate::client::Client;
use crate::config;
use crate::errors::no_session;
use crate::events::Reporter;
use crate::executor::Through;
use crate::options::OpenSession;
use crate::ui::ClientUi;
use crate::update::Update;
use start::{Started, start};

pub(crate) use turn::Answered;

/// A session of a client.
pub(crate) struct Session {
    /// Id for the client: that of the log when the session was opened.
    pub(crate) id: String,
    pub(crate) client: Client,
    ui: Arc<ClientUi>,
    /// The profiles that the client can select.
    profiles: Vec<&'static str>,
    approvals: Approvals,
    /// Held while a prompt is answered or the session is opened anew.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Cancels the prompt that is being answered. In version 2 its request has a response already.
    prompting: Mutex<Option<CancelToken>>,
    open: Mutex<Open>,
    /// Number of messages that are in no log.
    local: AtomicU64,
}

/// Input for opening the session.
pub(crate) struct OpenPlan {
    pub(crate) cwd: PathBuf,
    pub(crate) additional_directories: Vec<PathBuf>,
    pub(crate) mcp_servers: Vec<ConfiguredServer>,
    pub(crate) profiles: Vec<&'static str>,
    pub(crate) through: Through,
    pub(crate) open: OpenSession,
}

impl OpenPlan {
    /// Returns true if both ask for the same directories and servers.
    fn asks_for_the_same_as(&self, other: &Self) -> bool {
        self.cwd == other.cwd
            && self.additional_directories == other.additional_directories
            && self.mcp_servers == other.mcp_servers
    }
}

/// The parts of a session, as far as there are any.
enum Open {
    Live(Live),
    /// The parts are being replaced.
    Reopening,
    Closed,
}

/// The parts of a session that is open.
struct Live {
    runtime: AgentRuntime,
    reporter: Arc<Reporter>,
    profile: String,
    plan: Arc<OpenPlan>,
    _events: Subscription,
}

impl Session {
    /// Opens a session. Returns what the user should know, too.
    pub(crate) async fn open(
        client: Client,
        plan: OpenPlan,
        selector: SessionSelector,
    ) -> Result<(Self, Vec<String>), Error> {
        let approvals = Approvals::default();
        let ui = Arc::new(ClientUi::new(client.clone()));
        let plan = Arc::new(plan);
        let started = start(&client, &plan, selector, None, None, &ui, &approvals).await?;
        let Started { live, id, notices } = started;
        let session = Self {
            id,
            client,
            ui,
            profiles: plan.profiles.clone(),
            approvals,
            turn: Arc::default(),
            prompting: Mutex::default(),
            open: Mutex::new(Open::Live(live)),
            local: AtomicU64::new(0),
        };
        Ok((session, notices))
    }

    fn parts(&self) -> MutexGuard<'_, Open> {
        lock(&self.open)
    }

    /// Reads something of the parts of the session.
    fn with_live<T>(&self, read: impl FnOnce(&Live) -> T) -> Result<T, Error> {
        match &*self.parts() {
            Open::Live(live) => Ok(read(live)),
            Open::Reopening => Err(Error::new(
                Error::INVALID_REQUEST,
                "the session is being opened anew; repeat the request later",
            )),
            Open::Closed => Err(no_session(&self.id)),
        }
    }

    /// Returns the session of the agent.
    pub(crate) fn agent(&self) -> Result<AgentSession, Error> {
        self.with_live(|live| live.runtime.session())
    }

    fn reporter(&self) -> Result<Arc<Reporter>, Error> {
        self.with_live(|live| Arc::clone(&live.reporter))
    }

    /// Returns true if nothing of the session is left but its log.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(*self.parts(), Open::Closed)
    }

    /// Returns the modes of version 1 and the options.
    pub(crate) fn settings(&self) -> Result<(Value, Value), Error> {
        let (session, profile) =
            self.with_live(|live| (live.runtime.session(), live.profile.clone()))?;
        let options = config::options(&session, &profile, &self.profiles);
        let modes = config::modes(&profile, &self.profiles);
        Ok((modes, self.client.version.options(&options)))
    }

    /// Returns the report on the size of the context and the cost; `None` if neither is known.
    pub(crate) fn usage(&self) -> Option<Update> {
        self.reporter().ok()?.usage()
    }

    /// Reports something about the session.
    pub(crate) async fn report(&self, update: Update) {
        self.client.report(&self.id, update).await;
    }

    /// Cancels the run.
    pub(crate) fn cancel(&self) {
        if let Some(prompting) = &*self.prompting() {
            prompting.cancel();
        }
        if let Ok(session) = self.agent() {
            session.abort_bash();
            session.request_abort();
        }
    }

    fn prompting(&self) -> MutexGuard<'_, Option<CancelToken>> {
        lock(&self.prompting)
    }

    /// Returns an id for a message that is in no log.
    fn local_id(&self, kind: &str) -> String {
        let number = self.local.fetch_add(1, Ordering::Relaxed);
        format!("{kind}-{}-{number}", jiff::Timestamp::now().as_millisecond())
    }

    /// Ends the session. Its log stays. Afterwards nothing about it is reported.
    pub(crate) async fn close(self: &Arc<Self>) {
        let this = Arc::clone(self);
        // A task of its own: a request that is cancelled does not leave half a session.
        let closing = tokio::spawn(async move {
            if let Some(prompting) = &*this.prompting() {
                prompting.cancel();
            }
            let ended = this.with_live(|live| (live.runtime.clone(), Arc::clone(&live.reporter)));
            let ended = ended.ok();
            if let Some((runtime, _)) = &ended {
                runtime.shut_down().await;
            }
            // A run reports its end before it gives up its turn.
            let _turn = this.turn.lock().await;
            let open = std::mem::replace(&mut *this.parts(), Open::Closed);
            if let Open::Live(live) = open {
                let is_ended = ended
                    .as_ref()
                    .is_some_and(|(_, reporter)| Arc::ptr_eq(reporter, &live.reporter));
                // The profile may have changed meanwhile.
                if !is_ended {
                    live.runtime.shut_down().await;
                }
            }
            this.ui.unbind();
        });
        // A task that panicked has left nothing to close.
        let _ = closing.await;
    }

    /// Selects another profile, model or thinking level.
    pub(crate) async fn set(self: &Arc<Self>, id: &str, value: &str) -> Result<(), Error> {
        if id == config::PROFILE {
            return self.set_profile(value).await;
        }
        config::set(&self.agent()?, id, value).await
    }
}
