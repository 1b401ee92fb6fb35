//! The servers of a session: which there are, when they are connected, and what waits for them.
//!
//! A server is connected when something needs it: a call, a search without known lists, or the
//! start of a session on a screen. Every attempt is a task of its own, so that a caller who gives
//! up does not end it, and a server that never answers costs only its own callers.

mod connect;
mod handler;

use pi_base::{lock, unpoisoned};
use pi_config::mcp::ConfiguredServer;
use std::sync::{Arc, Mutex, OnceLock, RwLock, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use pi_coding_agent::extension::{ExtensionContext, ToolWait};
use pi_config::ValueResolver;
use pi_config::mcp;
use pi_guard::secrets::Secrets;
use pi_mcp::client::{CallOptions, Client, ClientError};
use pi_mcp::protocol::{CallToolResult, Tool};
use pi_protocol::CancelToken;
use pi_tools::Host;
use pi_web::WebClient;
use serde_json::{Map, Value};
use tokio::sync::{Semaphore, watch};

use crate::auth::McpAuth;
use crate::cache::Cache;
use crate::log::Log;
use crate::options::{McpOptions, ServerError};
use crate::pins::Pins;
use crate::result::Files;
use crate::server::Server;
use crate::state::{ServerState, ServerStatus};

/// The most connections that are made at a time without being needed yet.
const PARALLEL: usize = 8;

/// The longest wait for the lists of servers.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// The servers of a session. Clones share them.
#[derive(Clone)]
pub struct McpServers(pub(crate) Arc<Shared>);

/// The parts that all servers share.
pub(crate) struct Shared {
    pub(crate) options: McpOptions,
    pub(crate) resolver: ValueResolver,
    /// Redacts what servers were given, in the session and in the log.
    pub(crate) secrets: Secrets,
    pub(crate) log: Arc<Log>,
    pub(crate) cache: Cache,
    pub(crate) pins: Pins,
    pub(crate) files: Files,
    auth: OnceLock<McpAuth>,
    servers: RwLock<Vec<Arc<Server>>>,
    permits: Semaphore,
    generation: watch::Sender<u64>,
    /// The surroundings of the session; `None` outside of one.
    pub(crate) context: Mutex<Option<ExtensionContext>>,
    /// Called after lists have changed.
    on_lists: Mutex<Option<Arc<dyn Fn() + Send + Sync>>>,
    /// Cancelled when the session ends or is reloaded.
    closed: Mutex<CancelToken>,
}

impl McpServers {
    /// Creates the servers of a session. Nothing is connected.
    pub fn new(options: McpOptions) -> Self {
        let environment = &options.environment;
        let directory = &environment.agent_directory;
        Self(Arc::new(Shared {
            resolver: ValueResolver::new(environment.clone()),
            secrets: options.secrets(),
            log: Arc::new(Log::new(directory)),
            cache: Cache::new(directory),
            pins: Pins::new(directory),
            files: Files::new(environment.temporary()),
            auth: OnceLock::new(),
            servers: RwLock::default(),
            permits: Semaphore::new(PARALLEL),
            generation: watch::Sender::new(0),
            context: Mutex::default(),
            on_lists: Mutex::default(),
            closed: Mutex::default(),
            options,
        }))
    }

    /// Sets the servers. Those that are as they were stay connected; others are disconnected.
    pub fn set_servers(&self, configured: Vec<ConfiguredServer>) {
        let removed: Vec<Arc<Server>> = {
            let mut servers = unpoisoned(self.0.servers.write());
            let mut old = std::mem::take(&mut *servers);
            for one in configured {
                let kept = old.iter().position(|server| server.is(&one));
                servers.push(match kept {
                    Some(at) => old.remove(at),
                    None => Arc::new(Server::replacing(&old, one, &self.0.options.environment)),
                });
            }
            old
        };
        for server in removed {
            server.state.send_replace(ServerState::Disabled);
            if let Some(link) = server.take_link() {
                tokio::spawn(connect::end(link));
            }
        }
        self.0.lists_changed();
    }

    /// Returns the servers and their states, in the order of the configuration.
    pub fn states(&self) -> Vec<ServerStatus> {
        self.all().iter().map(|server| server.status()).collect()
    }

    /// Returns a receiver of changes: of states, lists and servers.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.generation.subscribe()
    }

    /// Returns the sign-ins to servers. A connection uses new tokens with its next request.
    pub fn auth(&self) -> &McpAuth {
        self.0.auth()
    }

    /// Returns the tools of a server, if they are known.
    pub fn tools(&self, name: &str) -> Option<Vec<Tool>> {
        let lists = self.find(name).ok()?.lists(&self.0.cache)?;
        Some(lists.tools.clone())
    }

    /// Connects a server and waits for its lists.
    pub async fn connect(&self, name: &str) -> Result<(), ServerError> {
        self.client(&self.find(name)?).await.map(drop)
    }

    /// Ends the connection of a server, if it has one, and makes a new one.
    pub async fn reconnect(&self, name: &str) -> Result<(), ServerError> {
        let server = self.find(name)?;
        self.disconnect(&server).await;
        self.client(&server).await.map(drop)
    }

    /// Calls a tool of a server, connecting it if necessary. No rule is applied: the caller is the
    /// user, or a tool behind the guard.
    pub async fn call(
        &self,
        name: &str,
        tool: &str,
        arguments: Map<String, Value>,
        options: &CallOptions,
    ) -> Result<Result<CallToolResult, ClientError>, ServerError> {
        let client = self.client(&self.find(name)?).await?;
        Ok(client.call_tool(tool, arguments, options).await)
    }

    /// Connects servers that something is about to need, in the background.
    pub(crate) fn connect_in_background(&self, wanted: impl Fn(&Server) -> bool) {
        for server in self.all().iter().filter(|server| wanted(server)) {
            if matches!(*server.state.borrow(), ServerState::Disconnected(_)) {
                self.0.start(server, Urgency::Background);
            }
        }
    }

    /// Waits until the tools of servers are known or cannot become known, at most 30 seconds. Lists
    /// of earlier sessions count, so this connects only servers that were never connected.
    pub async fn wait(&self, wait: &ToolWait) {
        let is_wanted = |server: &Server| match wait {
            ToolWait::Namespaces(names) => {
                let namespace = mcp::namespace(&server.name);
                names.iter().any(|name| *name == namespace || *name == server.name)
            }
            ToolWait::All => true,
        };
        self.wait_for(is_wanted).await;
    }

    /// The same for servers that `is_wanted` selects.
    pub(crate) async fn wait_for(&self, is_wanted: impl Fn(&Server) -> bool) {
        let mut waiting = Vec::new();
        let mut is_new = false;
        for server in self.all().iter().filter(|server| server.config.enabled && is_wanted(server))
        {
            let was_known = server.known_lists().is_some();
            if server.lists(&self.0.cache).is_some() {
                is_new |= !was_known;
                continue;
            }
            if matches!(*server.state.borrow(), ServerState::Disconnected(_)) {
                self.0.start(server, Urgency::Listed);
            }
            waiting.push(server.state.subscribe());
        }
        if is_new {
            self.0.lists_changed();
        }
        let settled = waiting.into_iter().map(async |mut state: watch::Receiver<ServerState>| {
            let _ = state.wait_for(|state| *state != ServerState::Connecting).await;
        });
        // The tools of a server that takes longer are not known yet.
        let _ = tokio::time::timeout(LONGEST_WAIT, join_all(settled)).await;
    }

    /// Returns the client of a server. Connects if necessary.
    pub(crate) async fn client(&self, server: &Arc<Server>) -> Result<Client, ServerError> {
        let name = || server.name.clone();
        for _ in 0..2 {
            if let Some(client) = server.client() {
                return Ok(client);
            }
            self.0.start(server, Urgency::Needed);
            let mut state = server.state.subscribe();
            let settled = state.wait_for(|state| *state != ServerState::Connecting).await;
            let settled = match settled {
                Ok(state) => state.clone(),
                Err(_) => ServerState::Disabled,
            };
            match settled {
                ServerState::Disabled => return Err(ServerError::Disabled(name())),
                ServerState::Failed(reason) => {
                    return Err(ServerError::Unavailable { name: name(), reason });
                }
                ServerState::NeedsSignIn(reason) => {
                    return Err(ServerError::SignIn { name: name(), reason });
                }
                // Connected, or disconnected again already.
                _ => {}
            }
        }
        match server.client() {
            Some(client) => Ok(client),
            None => {
                let reason = "the connection ended at once".to_owned();
                Err(ServerError::Unavailable { name: name(), reason })
            }
        }
    }

    /// Ends the connection of a server. The next call connects.
    pub(crate) async fn disconnect(&self, server: &Arc<Server>) {
        if let Some(link) = server.take_link() {
            connect::end(link).await;
        }
        server.state.send_if_modified(|state| {
            let is_other = !matches!(state, ServerState::Disabled | ServerState::Connecting);
            if is_other {
                *state = ServerState::Disconnected(None);
            }
            is_other
        });
    }

    /// Ends all connections and processes.
    pub async fn shutdown(&self) {
        self.0.leave();
        let links = self.all().into_iter().filter_map(|server| server.take_link());
        join_all(links.map(connect::end)).await;
    }

    /// Ends everything without waiting: processes are killed.
    pub(crate) fn abandon(&self) {
        self.0.leave();
        self.all().iter().for_each(|server| drop(server.take_link()));
    }

    /// Makes connections possible again, after a reload.
    pub(crate) fn reopen(&self) {
        *lock(&self.0.closed) = CancelToken::new();
        for server in self.all() {
            server.state.send_if_modified(|state| {
                let is_open = *state != ServerState::Disabled;
                if is_open {
                    *state = ServerState::Disconnected(None);
                }
                is_open
            });
        }
    }

    pub(crate) fn all(&self) -> Vec<Arc<Server>> {
        unpoisoned(self.0.servers.read()).clone()
    }

    pub(crate) fn find(&self, name: &str) -> Result<Arc<Server>, ServerError> {
        let found = self.all().into_iter().find(|server| server.name == name);
        found.ok_or_else(|| ServerError::Unknown(name.to_owned()))
    }

    /// Hands the session to the servers: for questions to the user, and for models.
    pub(crate) fn bind(&self, context: &ExtensionContext, on_lists: Arc<dyn Fn() + Send + Sync>) {
        *lock(&self.0.context) = Some(context.clone());
        *lock(&self.0.on_lists) = Some(on_lists);
    }
}

/// The urgency of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// A call of the server waits for it.
    Needed,
    /// Something waits for the lists of the server. No call of it was approved.
    Listed,
    /// The server may be needed later.
    Background,
}

impl Shared {
    /// Starts to connect a server, unless that happens already.
    pub(crate) fn start(self: &Arc<Self>, server: &Arc<Server>, urgency: Urgency) {
        let begin = |server: &Server| {
            server.state.send_if_modified(|state| match state {
                ServerState::Disabled | ServerState::Connecting => false,
                ServerState::Connected if server.client().is_some() => false,
                _ => {
                    *state = ServerState::Connecting;
                    true
                }
            })
        };
        // At once, so that a caller who looks at the state waits for this attempt.
        let closed = self.closed();
        let is_waited_for = urgency != Urgency::Background;
        if closed.is_cancelled() || (is_waited_for && !begin(server)) {
            return;
        }
        let (shared, server) = (Arc::clone(self), Arc::clone(server));
        tokio::spawn(async move {
            let _permit = match urgency {
                Urgency::Needed | Urgency::Listed => None,
                Urgency::Background => {
                    let permit = shared.permits.acquire().await.ok();
                    if !begin(&server) {
                        return;
                    }
                    permit
                }
            };
            shared.changed();
            let state = tokio::select! {
                biased;
                () = closed.cancelled() => ServerState::Disconnected(None),
                state = connect::connect(&shared, &server, urgency) => state,
            };
            server.state.send_if_modified(|current| {
                let is_wanted = *current != ServerState::Disabled;
                if is_wanted {
                    *current = state;
                }
                is_wanted
            });
            shared.lists_changed();
        });
    }

    /// Takes note of the end of a connection that this side did not end.
    pub(crate) fn ended(&self, server: &Server, reason: &str) {
        let Some(link) = server.take_link() else { return };
        let reason = match link.log.last_errors() {
            Some(errors) => format!("{reason}; its last messages: {errors}"),
            None => reason.to_owned(),
        };
        server.state.send_if_modified(|state| {
            let is_connected = *state == ServerState::Connected;
            if is_connected {
                *state = ServerState::Disconnected(Some(reason));
            }
            is_connected
        });
        self.changed();
    }

    /// Reports a change of states to subscribers.
    pub(crate) fn changed(&self) {
        self.generation.send_modify(|generation| *generation += 1);
    }

    /// Reports a change of lists to the session.
    pub(crate) fn lists_changed(&self) {
        let on_lists = lock(&self.on_lists).clone();
        if let Some(on_lists) = on_lists {
            on_lists();
        }
        self.changed();
    }

    /// Returns the sign-ins to servers.
    pub(crate) fn auth(&self) -> &McpAuth {
        let McpOptions { environment, models, .. } = &self.options;
        self.auth.get_or_init(|| McpAuth::new(environment, models.clone()))
    }

    /// Returns a client for requests over HTTP.
    pub(crate) fn web(&self) -> WebClient {
        let variables = Arc::clone(&self.options.environment.variables);
        WebClient::new(Arc::new(move |name| variables.get(name).cloned()))
    }

    /// Ends what is being done, and releases the session: its registry holds these servers.
    fn leave(&self) {
        self.closed().cancel();
        let left = lock(&self.context).take();
        // Outside of the lock: it may be the last that holds the registry.
        drop(left);
    }

    fn closed(&self) -> CancelToken {
        lock(&self.closed).clone()
    }

    /// Returns the executor of server processes: in the sandbox, if the session has one.
    pub(crate) fn host(&self) -> Result<Host, String> {
        let sandboxed = match &self.options.guard {
            Some(guard) => guard.host().map_err(|error| error.to_string())?,
            None => None,
        };
        let plain = || Host::default().with_supervisor(self.options.supervisor.clone());
        Ok(sandboxed.unwrap_or_else(plain))
    }

    /// Returns the surroundings of the session.
    pub(crate) fn context(&self) -> Option<ExtensionContext> {
        lock(&self.context).clone()
    }
}

/// Servers that do not keep themselves alive.
#[derive(Clone)]
pub(crate) struct WeakServers(Weak<Shared>);

impl WeakServers {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self(Arc::downgrade(shared))
    }

    pub(crate) fn upgrade(&self) -> Option<McpServers> {
        self.0.upgrade().map(McpServers)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.closed().cancel();
    }
}

impl std::fmt::Debug for McpServers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.all().iter().map(|server| &server.name)).finish()
    }
}

/// Time that the first prompt waits for tools that requests declare.
pub(crate) const FIRST_PROMPT: Duration = Duration::from_secs(10);
