//! What the handlers of a server share, and what the program decides about the server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::OnceLock;

use jiff::Timestamp;
use pi_guard::secrets::Secrets;
use pi_host::{Directories, Host};
use pi_protocol::CancelToken;

use crate::audit::Audit;
use crate::entrance::cookies::Cookies;
use crate::entrance::gate::{Advice, no_advice};
use crate::entrance::guesses::Guesses;
use crate::entrance::tokens::Tokens;
use crate::lists::Lists;
use crate::metrics::Metrics;
use crate::server::ServeError;

/// Properties of a server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServeOptions {
    /// Version of the program.
    pub version: String,
    /// Directory of the tokens and of the audit log.
    pub directory: PathBuf,
    /// Directories in which clients can start sessions.
    pub directories: Directories,
    /// Names by which requests may call the server, besides those of loopback and the address.
    pub hosts: Vec<String>,
    /// Address of the server as browsers see it, behind a proxy.
    pub public_url: Option<url::Url>,
    /// Permits addresses beyond loopback without TLS.
    pub insecure_lan: bool,
    /// The listener encrypts connections.
    pub is_encrypted: bool,
    /// Hints for refused requests, in the words of the program.
    pub advice: Advice,
    /// Secrets of the user, which are redacted in exports, diffs and runs of sessions that are not
    /// open.
    pub secrets: Secrets,
}

impl ServeOptions {
    /// Creates the options of a server on loopback.
    pub fn new(
        version: impl Into<String>,
        directory: impl Into<PathBuf>,
        directories: Directories,
    ) -> Self {
        Self {
            version: version.into(),
            directory: directory.into(),
            directories,
            hosts: Vec::new(),
            public_url: None,
            insecure_lan: false,
            is_encrypted: false,
            advice: no_advice,
            secrets: Secrets::default(),
        }
    }

    /// Returns true if browsers reach the server through TLS.
    pub fn is_secure(&self) -> bool {
        self.is_encrypted || self.public_url.as_ref().is_some_and(|url| url.scheme() == "https")
    }
}

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
    pub(crate) metrics: Metrics,
    /// The lists as they change.
    pub(crate) lists: Lists,
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
    pub(crate) fn new(host: Host, options: ServeOptions) -> Result<Self, ServeError> {
        let tokens = Tokens::open(&options.directory)?;
        let audit = Audit::new(&options.directory);
        Ok(Self {
            host,
            cookies: Cookies::new(options.is_secure()),
            tokens,
            guesses: Guesses::default(),
            audit,
            metrics: Metrics::default(),
            lists: Lists::default(),
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
}
