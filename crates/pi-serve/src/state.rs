//! What the handlers of a server share.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use pi_coding_agent::AgentSession;
use pi_host::{Host, Hosted};
use pi_protocol::CancelToken;

use crate::audit::Audit;
use crate::entrance::cookies::Cookies;
use crate::entrance::guesses::Guesses;
use crate::entrance::tokens::{Tokens, TokensError};
use crate::lists::Lists;
use crate::metrics::{Metrics, OpenStream};
use crate::options::ServeOptions;

/// What all handlers of a server share.
#[derive(Debug)]
#[non_exhaustive]
pub struct ServeState {
    /// The open sessions.
    pub host: Host,
    /// What the program decided.
    pub options: ServeOptions,
    /// The tokens.
    pub tokens: Tokens,
    /// The logins of browsers.
    pub cookies: Cookies,
    /// The wrong tokens of each peer.
    pub guesses: Guesses,
    /// The record of who did what.
    pub audit: Audit,
    /// Counters.
    pub(crate) metrics: Arc<Metrics>,
    /// The lists as they change.
    pub(crate) lists: Arc<Lists>,
    /// Time of the start.
    pub started: Timestamp,
    /// Id of this run of the server: another one means that the server was started again.
    pub server_id: String,
    /// Cancelled when the server stops. Streams end then.
    pub stop: CancelToken,
    /// Address of the listener, as soon as there is one.
    pub(crate) address: OnceLock<SocketAddr>,
}

impl ServeState {
    pub(crate) fn new(host: Host, options: ServeOptions) -> Result<Self, TokensError> {
        let tokens = Tokens::open(&options.directory)?;
        let audit = Audit::new(&options.directory);
        Ok(Self {
            host,
            cookies: Cookies::new(options.is_secure()),
            tokens,
            guesses: Guesses::default(),
            audit,
            metrics: Arc::default(),
            lists: Arc::default(),
            address: OnceLock::new(),
            started: Timestamp::now(),
            server_id: uuid::Uuid::new_v4().to_string(),
            stop: CancelToken::new(),
            options,
        })
    }

    /// Returns the address of the page, as browsers reach it.
    pub fn base_url(&self) -> String {
        if let Some(url) = &self.options.public_url {
            return url.as_str().trim_end_matches('/').to_owned();
        }
        let scheme = if self.options.is_encrypted { "https" } else { "http" };
        match self.address.get() {
            Some(address) if address.ip().is_unspecified() => {
                format!("{scheme}://localhost:{}", address.port())
            }
            Some(address) => format!("{scheme}://{address}"),
            None => format!("{scheme}://localhost"),
        }
    }

    /// Returns a link that opens the page with a token. The token is in the fragment, which browsers
    /// do not send. A token for one session opens that session.
    pub fn url(&self, token: &str) -> String {
        format!("{}/#t={token}", self.base_url())
    }

    /// Returns the open session whose current log has this id. A session of a host that was replaced
    /// by another one is found by the id of the new log.
    pub fn live(&self, id: &str) -> Option<(Arc<Hosted>, AgentSession)> {
        let open = self.host.open_sessions().into_iter();
        let mut open = open.filter_map(|hosted| Some((hosted.session().ok()?, hosted)));
        open.find(|(session, _)| session.id() == id).map(|(session, hosted)| (hosted, session))
    }

    /// Counts a stream or socket until the result is dropped.
    pub(crate) fn open_stream(&self) -> OpenStream {
        OpenStream::new(&self.metrics)
    }
}
