//! The open sessions of a server, by id.
//!
//! A session is open once, however many clients use it: a client that asks for a session that is
//! open attaches to it. A session that no client uses is closed after a while; its log stays, and
//! the next client opens it again.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use pi_base::lock;
use pi_coding_agent::{Environment, SessionSelector, session_index};
use pi_session::{ListOptions, SessionInfo};
use tokio::sync::watch;

use crate::hosted::{Hosted, Notices};
use crate::open::{OpenError, OpenPlan, Opener};
use crate::sessions;
use crate::takeover::{Request, is_requested, is_used};
use crate::ui_hub::{Absence, Attachment, NewClient, UiHub};

/// Properties of a host.
#[non_exhaustive]
pub struct HostOptions {
    /// Opens sessions.
    pub opener: Opener,
    /// Directories of the user.
    pub environment: Environment,
    /// Directory for all sessions, if the user has set one.
    pub session_directory: Option<PathBuf>,
    /// Most sessions that are open at a time.
    pub most: usize,
    /// A session that no client uses is closed after this time; never without one.
    pub idle: Option<Duration>,
    /// What happens to the questions of a session without clients.
    pub absence: Absence,
}

impl std::fmt::Debug for HostOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostOptions").field("most", &self.most).finish_non_exhaustive()
    }
}

impl HostOptions {
    /// Creates options with a limit of 32 sessions that are not closed by themselves.
    pub fn new(opener: Opener, environment: Environment) -> Self {
        Self {
            opener,
            environment,
            session_directory: None,
            most: 32,
            idle: None,
            absence: Absence::Decline,
        }
    }
}

/// The open sessions of a server. Clones are the same host.
#[derive(Clone)]
pub struct Host(Arc<Shared>);

struct Shared {
    options: HostOptions,
    /// The sessions in the order in which they were opened.
    sessions: Mutex<Vec<Arc<Hosted>>>,
    /// Changes when a session is opened.
    opened: watch::Sender<u64>,
    /// Held while a stored session is opened, so that two clients do not open it twice.
    opening: tokio::sync::Mutex<()>,
}

/// An opened or attached session.
#[derive(Debug)]
#[non_exhaustive]
pub struct Entered {
    /// The session.
    pub session: Arc<Hosted>,
    /// What the user should know; empty if the session was open.
    pub notices: Notices,
    /// The session was open already.
    pub was_open: bool,
    /// Keeps the client attached, if one was given.
    pub attachment: Option<Attachment>,
}

impl Host {
    /// Creates a host without sessions.
    pub fn new(options: HostOptions) -> Self {
        Self(Arc::new(Shared {
            options,
            sessions: Mutex::default(),
            opened: watch::Sender::new(0),
            opening: tokio::sync::Mutex::default(),
        }))
    }

    /// Returns the directories and variables of the user.
    pub fn environment(&self) -> &Environment {
        &self.0.options.environment
    }

    /// Returns the directory for all sessions, if the user has set one.
    pub fn session_directory(&self) -> Option<&Path> {
        self.0.options.session_directory.as_deref()
    }

    /// Opens a session that `selector` names. A client is attached before: it can be asked while
    /// the session starts.
    pub async fn open(
        &self,
        selector: SessionSelector,
        plan: OpenPlan,
        client: Option<NewClient>,
    ) -> Result<Entered, OpenError> {
        let options = &self.0.options;
        if self.sessions().len() >= options.most {
            self.evict_idle().await;
        }
        if self.sessions().len() >= options.most {
            return Err(OpenError::TooMany(options.most));
        }
        let (opener, hub) = (Arc::clone(&options.opener), UiHub::new(options.absence));
        let attachment = client.map(|client| hub.attach(client));
        let (session, notices) = Hosted::open(opener, hub, selector, plan).await?;
        self.sessions().push(Arc::clone(&session));
        self.0.opened.send_modify(|count| *count += 1);
        Ok(Entered { session, notices, was_open: false, attachment })
    }

    /// Returns the session with this id, which is opened if it is not open, and attaches a client.
    pub async fn enter(
        &self,
        id: &str,
        plan: OpenPlan,
        client: Option<NewClient>,
    ) -> Result<Entered, OpenError> {
        let _opening = self.0.opening.lock().await;
        if let Some(session) = self.get(id) {
            let attachment = client.map(|client| session.ui().attach(client));
            return Ok(Entered { session, notices: Notices::new(), was_open: true, attachment });
        }
        let file = self.find(id).await?.path;
        let selector = SessionSelector::Existing(file.to_string_lossy().into_owned());
        self.open(selector, plan, client).await
    }

    /// Opens a stored session, or returns the open one with this log, and attaches a client. Unlike
    /// [`Host::enter`], it follows a session that has moved on to another log.
    pub async fn enter_log(
        &self,
        stored: &SessionInfo,
        plan: OpenPlan,
        client: Option<NewClient>,
    ) -> Result<Entered, OpenError> {
        let _opening = self.0.opening.lock().await;
        if let Some(session) = self.with_log(&stored.id) {
            let attachment = client.map(|client| session.ui().attach(client));
            return Ok(Entered { session, notices: Notices::new(), was_open: true, attachment });
        }
        let selector = SessionSelector::Existing(stored.path.to_string_lossy().into_owned());
        self.open(selector, plan, client).await
    }

    /// Returns the open session with this id: that of its log when it was opened.
    pub fn get(&self, id: &str) -> Option<Arc<Hosted>> {
        let mut sessions = self.sessions();
        // A session that could neither be opened anew nor as it was.
        sessions.retain(|session| !session.is_closed());
        sessions.iter().rev().find(|session| session.id() == id).cloned()
    }

    /// Returns the open session whose current log has this id. A session moves to another log when
    /// it is forked or begun anew.
    pub fn with_log(&self, id: &str) -> Option<Arc<Hosted>> {
        let sessions = self.sessions();
        sessions
            .iter()
            .rev()
            .find(|session| !session.is_closed() && session.log_id() == id)
            .cloned()
    }

    /// Returns a signal for every session that is opened.
    pub fn opened(&self) -> watch::Receiver<u64> {
        self.0.opened.subscribe()
    }

    /// Returns the open sessions, in no particular order.
    pub fn open_sessions(&self) -> Vec<Arc<Hosted>> {
        self.sessions().clone()
    }

    /// Returns the stored sessions, newest first; those of one working directory, if it is given.
    pub async fn stored(&self, cwd: Option<PathBuf>) -> Result<Vec<SessionInfo>, OpenError> {
        let options = &self.0.options;
        let (environment, directory) =
            (options.environment.clone(), options.session_directory.clone());
        let listing = tokio::task::spawn_blocking(move || {
            let mut wanted = ListOptions::default();
            wanted.cwd = cwd;
            // Files that cannot be read are no sessions for a client.
            session_index(&environment, directory.as_ref()).list(&wanted).sessions
        });
        listing.await.map_err(|error| OpenError::Failed(format!("the list of sessions: {error}")))
    }

    /// Returns a stored session.
    pub async fn find(&self, id: &str) -> Result<SessionInfo, OpenError> {
        let found = self.stored(None).await?.into_iter().find(|session| session.id == id);
        found.ok_or_else(|| OpenError::NotFound(format!("there is no session {id:?}")))
    }

    /// Takes a session over that another host has open, and opens it. The other host closes it as
    /// soon as it is not busy; if that takes longer than `patience`, the session stays there.
    pub async fn take_over(
        &self,
        id: &str,
        plan: OpenPlan,
        client: Option<NewClient>,
        patience: Duration,
    ) -> Result<Entered, OpenError> {
        let stored = self.find(id).await?;
        if self.with_log(id).is_none() {
            let file = &stored.path;
            if is_used(file).await {
                let problem = |error: &dyn std::fmt::Display| {
                    OpenError::Failed(format!("cannot take over {}: {error}", file.display()))
                };
                let request = Request::leave(file).map_err(|error| problem(&error))?;
                if !request.granted(file, patience).await {
                    return Err(problem(&"another program uses it and does not release it"));
                }
            }
        }
        self.enter_log(&stored, plan, client).await
    }

    /// Returns true if another program has the log of a session open, or this program outside of the
    /// host.
    pub async fn is_elsewhere(&self, stored: &SessionInfo) -> bool {
        self.with_log(&stored.id).is_none() && is_used(&stored.path).await
    }

    /// Closes the sessions that other hosts ask for, unless they are busy, and those that are idle.
    /// A server calls it every second or so.
    pub async fn tend(&self) {
        for session in self.open_sessions() {
            let file = session.session().ok().and_then(|session| session.file());
            let Some(file) = file else { continue };
            if !session.is_busy() && is_requested(&file).await {
                self.close_session(&session).await;
            }
        }
        self.evict_idle().await;
    }

    /// Closes a session. Returns false if it was not open.
    pub async fn close(&self, id: &str) -> bool {
        match self.get(id) {
            Some(session) => self.close_session(&session).await,
            None => false,
        }
    }

    /// Closes a session of this host. Returns false if it was closed already.
    pub async fn close_session(&self, session: &Arc<Hosted>) -> bool {
        let at =
            |sessions: &[Arc<Hosted>]| sessions.iter().position(|one| Arc::ptr_eq(one, session));
        let removed = {
            let mut sessions = self.sessions();
            at(&sessions).map(|at| sessions.remove(at))
        };
        match removed {
            Some(session) => {
                session.close().await;
                true
            }
            None => false,
        }
    }

    /// Closes a session and removes it with what belongs to it. A session that another program uses
    /// stays.
    pub async fn delete(&self, id: &str) -> Result<(), OpenError> {
        self.close(id).await;
        if let Some(session) = self.with_log(id) {
            self.close_session(&session).await;
        }
        let session = self.find(id).await?;
        let directory = self.environment().agent_directory.clone();
        let removing = tokio::task::spawn_blocking(move || {
            sessions::remove(&session, &directory, |path| std::fs::remove_file(path))
        });
        let failed = |error: &dyn std::fmt::Display| OpenError::Failed(error.to_string());
        let removed = removing.await.map_err(|error| failed(&error))?;
        removed.map_err(|error| failed(&error))
    }

    /// Closes the sessions that no client has used for the idle time of the host. Returns their
    /// ids.
    pub async fn evict_idle(&self) -> Vec<String> {
        let Some(idle) = self.0.options.idle else { return Vec::new() };
        let mut evicted = Vec::new();
        for session in self.open_sessions() {
            if session.idle_time().is_some_and(|time| time >= idle) {
                self.close_session(&session).await;
                evicted.push(session.id().to_owned());
            }
        }
        evicted
    }

    fn sessions(&self) -> MutexGuard<'_, Vec<Arc<Hosted>>> {
        lock(&self.0.sessions)
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("open", &self.sessions().len()).finish_non_exhaustive()
    }
}
