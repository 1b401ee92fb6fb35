//! One session of a client: its reports, its settings and its end. The session itself is one of the
//! host, which other clients may use as well.
//!
//! `turn` answers prompts.

mod turn;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use pi_base::lock;
use pi_coding_agent::AgentSession;
use pi_coding_agent::session::Subscription;
use pi_host::ui_hub::{Attachment, NewClient};
use pi_host::{Entered, Host, Hosted, OpenError, OpenPlan};
use pi_jsonrpc::Error;
use pi_protocol::CancelToken;
use serde_json::Value;
use tokio::sync::OwnedMutexGuard;

use crate::client::Client;
use crate::config;
use crate::errors::{no_session, open_error};
use crate::events::Reporter;
use crate::ui::ClientUi;
use crate::update::{Severity, Update};

pub(crate) use turn::Answered;

/// The parts of a session that the client brings, before the session is open.
pub(crate) struct ClientParts {
    pub(crate) reporter: Arc<Reporter>,
    ui: Arc<ClientUi>,
}

impl ClientParts {
    pub(crate) fn new(client: Client, profiles: Vec<&'static str>) -> Self {
        let reporter = Arc::new(Reporter::new(client.clone(), profiles));
        let ui = Arc::new(ClientUi::new(client, Arc::clone(&reporter)));
        Self { reporter, ui }
    }

    /// Returns the client as the host attaches it.
    pub(crate) fn attaching(&self) -> NewClient {
        NewClient::new(self.reporter.client().name.clone(), Arc::clone(&self.ui) as Arc<_>)
    }
}

/// A session of a client.
pub(crate) struct Session {
    hosted: Arc<Hosted>,
    pub(crate) reporter: Arc<Reporter>,
    ui: Arc<ClientUi>,
    /// Cancels the prompt that is being answered. In version 2 its request has a response already.
    prompting: Mutex<Option<CancelToken>>,
    /// Number of messages that are in no log.
    local: AtomicU64,
    attached: Mutex<Option<(Option<Attachment>, Subscription)>>,
}

impl Session {
    /// Begins to report about a session that was opened or attached.
    pub(crate) fn new(parts: ClientParts, entered: Entered) -> Self {
        let ClientParts { reporter, ui } = parts;
        let Entered { session: hosted, attachment, .. } = entered;
        reporter.bind(&hosted);
        let events = hosted.add_listener(Arc::clone(&reporter) as Arc<_>);
        Self {
            hosted,
            reporter,
            ui,
            prompting: Mutex::default(),
            local: AtomicU64::new(0),
            attached: Mutex::new(Some((attachment, events))),
        }
    }

    pub(crate) fn client(&self) -> &Client {
        self.reporter.client()
    }

    /// Returns the id for the client: that of the log when the session was opened.
    pub(crate) fn id(&self) -> &str {
        self.hosted.id()
    }

    /// Returns the session of the agent.
    pub(crate) fn agent(&self) -> Result<AgentSession, Error> {
        self.hosted.session().map_err(|error| self.unavailable(error))
    }

    /// Returns the error of a session that cannot be used now.
    fn unavailable(&self, error: OpenError) -> Error {
        match error {
            OpenError::NotFound(_) => no_session(self.id()),
            error => open_error(error),
        }
    }

    /// Returns true if nothing of the session is left but its log.
    pub(crate) fn is_closed(&self) -> bool {
        self.hosted.is_closed()
    }

    /// Returns the modes of version 1 and the options.
    pub(crate) fn settings(&self) -> Result<(Value, Value), Error> {
        let (session, profiles) = (self.agent()?, self.reporter.profiles());
        let modes = config::modes(config::profile(&session), profiles);
        Ok((modes, self.client().version.options(&config::options(&session, profiles))))
    }

    /// Reports something about the session.
    pub(crate) fn report(&self, update: Update) {
        self.reporter.report(update);
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

    /// Ends the session for this client. Afterwards nothing about it is reported. A session that no
    /// other client uses is closed; its log stays.
    pub(crate) async fn close(&self, host: &Host) {
        if let Some(prompting) = &*self.prompting() {
            prompting.cancel();
        }
        // A run reports its end to the client before.
        if !self.is_closed() && self.hosted.ui().clients() <= 1 {
            host.close(self.id()).await;
        }
        let attached = lock(&self.attached).take();
        drop(attached);
        // The other clients may have left meanwhile.
        if !self.is_closed() && self.hosted.ui().clients() == 0 {
            host.close(self.id()).await;
        }
    }

    /// Selects another profile, model or thinking level.
    pub(crate) async fn set(self: &Arc<Self>, id: &str, value: &str) -> Result<(), Error> {
        if id == config::PROFILE {
            return self.set_profile(value).await;
        }
        config::set(&self.agent()?, id, value).await
    }

    /// Selects another profile, after the run that goes on now.
    pub(crate) async fn set_profile(self: &Arc<Self>, profile: &str) -> Result<(), Error> {
        if !self.reporter.profiles().contains(&profile) {
            return Err(config::unknown(config::PROFILE, profile));
        }
        let turn = match self.hosted.try_turn() {
            Some(turn) => turn,
            None => {
                let text = format!("the profile becomes {profile} when the run has ended");
                self.report(Update::Notice { severity: Severity::Info, text });
                self.hosted.turn().await
            }
        };
        if config::profile(&self.agent()?) == profile {
            return Ok(());
        }
        let plan = self.hosted.plan().map_err(|error| self.unavailable(error))?;
        let mut plan = (*plan).clone();
        plan.profile = Some(profile.to_owned());
        self.reopen(plan, turn).await
    }

    /// Applies another request for the session, which is open. A run keeps what it has.
    pub(crate) async fn adopt(self: &Arc<Self>, mut plan: OpenPlan) -> Result<(), Error> {
        let current = self.hosted.plan().map_err(|error| self.unavailable(error))?;
        if current.asks_for_the_same_as(&plan) {
            return Ok(());
        }
        let Some(turn) = self.hosted.try_turn() else {
            let text = "the session is running: its directories and MCP servers stay as they are";
            let severity = Severity::Warning;
            self.report(Update::Notice { severity, text: text.to_owned() });
            return Ok(());
        };
        plan.profile = Some(config::profile(&self.agent()?).to_owned());
        self.reopen(plan, turn).await
    }

    /// Opens the session anew and reports it. If that fails, it is opened as it was before.
    async fn reopen(
        self: &Arc<Self>,
        plan: OpenPlan,
        turn: OwnedMutexGuard<()>,
    ) -> Result<(), Error> {
        let this = Arc::clone(self);
        // A task of its own: a request that is cancelled is reported as well.
        let reopening = tokio::spawn(async move {
            let before = config::profile(&this.agent()?);
            let profile = plan.profile.clone().unwrap_or_else(|| before.to_owned());
            let (notices, reopened) = this.hosted.reopen(plan, turn).await;
            for text in notices {
                this.report(Update::Notice { severity: Severity::Warning, text });
            }
            reopened.map_err(open_error)?;
            if profile != before {
                this.report(Update::Mode(profile));
                this.reporter.options();
            }
            Ok(())
        });
        reopening.await.unwrap_or_else(|error| Err(Error::internal(error)))
    }
}
