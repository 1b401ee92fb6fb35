//! The state of a server, as commands, panels and extensions show it.

use pi_config::mcp::{Origin, ServerConfig};

/// The state of a server in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerState {
    /// The configuration disables the server.
    Disabled,
    /// There is no connection: none was needed yet, or the last one ended for this reason. The next
    /// call connects.
    Disconnected(Option<String>),
    /// A connection is being made.
    Connecting,
    /// The server is connected.
    Connected,
    /// The last attempt to connect failed.
    Failed(String),
    /// The server requires that the user signs in.
    NeedsSignIn(String),
}

impl ServerState {
    /// Returns the name of the state.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Disconnected(_) => "disconnected",
            Self::Connecting => "connecting",
            Self::Connected => "connected",
            Self::Failed(_) => "failed",
            Self::NeedsSignIn(_) => "needs sign-in",
        }
    }

    /// Returns the reason of a failure or of the end of a connection.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Disconnected(reason) => reason.as_deref(),
            Self::Failed(reason) | Self::NeedsSignIn(reason) => Some(reason),
            Self::Disabled | Self::Connecting | Self::Connected => None,
        }
    }
}

/// A server of a session and its state.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ServerStatus {
    /// Name of the server.
    pub name: String,
    /// Origin of the server.
    pub origin: Origin,
    /// Configuration of the server.
    pub config: ServerConfig,
    /// State of the server.
    pub state: ServerState,
    /// Names of the tools, as the server calls them; `None` if they are not known.
    pub tools: Option<Vec<String>>,
    /// Names of the prompts.
    pub prompts: Vec<String>,
    /// The server has resources.
    pub has_resources: bool,
}
