//! What the program decides about a server.

use std::net::SocketAddr;
use std::path::PathBuf;

use pi_guard::secrets::Secrets;
use pi_host::Directories;
use pi_mcp::server::HttpHandler;

/// A refusal for which the program may have a hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused<'a> {
    /// The request names a host that the server does not know; without the port.
    Host(&'a str),
    /// The page that sends the request is of another site.
    Origin(&'a str),
    /// The address can be reached by other machines, and connections would not be encrypted.
    Unencrypted(SocketAddr),
}

/// Returns the hint of the program for a refusal.
pub type Advice = fn(Refused<'_>) -> Option<String>;

/// Has no hint.
pub(crate) fn no_advice(_: Refused<'_>) -> Option<String> {
    None
}

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
    /// Decisions about clients of the Agent Client Protocol; none are served without them.
    pub acp: Option<pi_acp::Options>,
    /// The handler of the Model Context Protocol, if it is served.
    pub mcp: Option<HttpHandler>,
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
            acp: None,
            mcp: None,
        }
    }

    /// Returns true if browsers reach the server through TLS.
    pub fn is_secure(&self) -> bool {
        self.is_encrypted || self.public_url.as_ref().is_some_and(|url| url.scheme() == "https")
    }
}
