//! A server of a session: its configuration, its lists and its connection.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use pi_base::lock;
use pi_config::Environment;
use pi_config::mcp::{ConfiguredServer, Origin, ServerConfig};
use pi_mcp::client::Client;
use tokio::sync::watch;

use crate::cache::{Cache, Lists};
use crate::fingerprint;
use crate::log::ServerLog;
use crate::process::ServerProcess;
use crate::state::{ServerState, ServerStatus};
use crate::watched::Watched;

/// A server of a session.
pub(crate) struct Server {
    pub(crate) name: String,
    pub(crate) origin: Origin,
    pub(crate) config: ServerConfig,
    fingerprint: OnceLock<String>,
    /// Working directory, if it decides which program the server is.
    place: Option<PathBuf>,
    pub(crate) state: watch::Sender<ServerState>,
    link: Mutex<Option<Link>>,
    lists: Mutex<Known>,
    /// The server announced a change of its lists that was not read yet.
    has_changed: AtomicBool,
    /// Resources that the model has read.
    pub(crate) watched: Watched,
}

/// An open connection.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) client: Client,
    /// The process of a server that is a program.
    pub(crate) process: Option<ServerProcess>,
    pub(crate) log: Arc<ServerLog>,
}

/// The lists of a server, if they are known.
enum Known {
    /// The cache was not read yet.
    Unread,
    Read(Option<Arc<Lists>>),
}

impl Server {
    pub(crate) fn new(configured: ConfiguredServer, environment: &Environment) -> Self {
        let ConfiguredServer { name, origin, config } = configured;
        let state = match config.enabled {
            true => ServerState::Disconnected(None),
            false => ServerState::Disabled,
        };
        Self {
            fingerprint: OnceLock::new(),
            place: fingerprint::place(&config, environment),
            name,
            origin,
            config,
            state: watch::Sender::new(state),
            link: Mutex::default(),
            lists: Mutex::new(Known::Unread),
            has_changed: AtomicBool::new(false),
            watched: Watched::default(),
        }
    }

    /// Creates a server with the lists of the one that it replaces, if both are reached alike.
    pub(crate) fn replacing(
        old: &[Arc<Self>],
        configured: ConfiguredServer,
        environment: &Environment,
    ) -> Self {
        let server = Self::new(configured, environment);
        let known = old.iter().find(|other| other.fingerprint() == server.fingerprint());
        let lists = known.and_then(|other| other.known_lists());
        if lists.is_some() {
            *lock(&server.lists) = Known::Read(lists);
        }
        server
    }

    /// Returns a hash that identifies how the server is reached.
    pub(crate) fn fingerprint(&self) -> &str {
        let hash = || fingerprint::of_server(&self.name, &self.config, self.place.as_deref());
        self.fingerprint.get_or_init(hash)
    }

    pub(crate) fn is(&self, configured: &ConfiguredServer) -> bool {
        let ConfiguredServer { name, origin, config } = configured;
        self.name == *name && self.origin == *origin && self.config == *config
    }

    /// Returns the client of an open connection.
    pub(crate) fn client(&self) -> Option<Client> {
        let link = lock(&self.link);
        link.as_ref().map(|link| link.client.clone()).filter(|client| !client.is_closed())
    }

    pub(crate) fn set_link(&self, link: Link) {
        self.watched.reconnected();
        *lock(&self.link) = Some(link);
    }

    pub(crate) fn take_link(&self) -> Option<Link> {
        lock(&self.link).take()
    }

    /// Takes note that the server announced a change of its lists.
    pub(crate) fn note_change(&self) {
        self.has_changed.store(true, Ordering::SeqCst);
    }

    /// Returns true, once, after a change was announced.
    pub(crate) fn take_change(&self) -> bool {
        self.has_changed.swap(false, Ordering::SeqCst)
    }

    /// Returns the lists of the server: of this session, or of an earlier one.
    pub(crate) fn lists(&self, cache: &Cache) -> Option<Arc<Lists>> {
        let mut known = lock(&self.lists);
        if let Known::Read(lists) = &*known {
            return lists.clone();
        }
        let lists = cache.read(self.fingerprint()).map(Arc::new);
        *known = Known::Read(lists.clone());
        lists
    }

    /// Returns the lists if they are in memory.
    pub(crate) fn known_lists(&self) -> Option<Arc<Lists>> {
        match &*lock(&self.lists) {
            Known::Read(lists) => lists.clone(),
            Known::Unread => None,
        }
    }

    pub(crate) fn set_lists(&self, lists: Lists) {
        *lock(&self.lists) = Known::Read(Some(Arc::new(lists)));
    }

    /// Returns the description of the server: the configured one, else the first line of its
    /// instructions.
    pub(crate) fn description(&self) -> Option<String> {
        if let Some(description) = &self.config.description {
            return Some(description.clone());
        }
        let lists = self.known_lists()?;
        let first = lists.instructions.as_ref()?.lines().find(|line| !line.trim().is_empty())?;
        Some(first.trim().to_owned())
    }

    pub(crate) fn status(&self) -> ServerStatus {
        let lists = self.known_lists();
        let names = |lists: &Arc<Lists>| lists.tools.iter().map(|tool| tool.name.clone()).collect();
        let prompts = lists.iter().flat_map(|lists| &lists.prompts);
        ServerStatus {
            name: self.name.clone(),
            origin: self.origin.clone(),
            config: self.config.clone(),
            state: self.state.borrow().clone(),
            tools: lists.as_ref().map(names),
            prompts: prompts.map(|prompt| prompt.name.clone()).collect(),
            has_resources: lists.is_some_and(|lists| lists.capabilities.resources.is_some()),
        }
    }
}

pi_protocol::debug_fields!(Server, name);
