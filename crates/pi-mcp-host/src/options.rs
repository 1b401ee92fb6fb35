//! The surroundings of the servers of a session, and why one cannot be used.

use std::sync::Arc;

use pi_guard::secrets::Secrets;
use pi_models::ModelRegistry;
use pi_tools::supervisor::Supervisor;

use pi_coding_agent::OpenPage;
use pi_coding_agent::guard::Guard;
use pi_config::Environment;

/// The surroundings of servers.
#[derive(Clone)]
#[non_exhaustive]
pub struct McpOptions {
    /// Directories and variables.
    pub environment: Environment,
    /// Ownership of processes.
    pub supervisor: Option<Supervisor>,
    /// Decides about hosts, and has the sandbox of processes.
    pub guard: Option<Arc<Guard>>,
    /// Has the credentials of providers, which servers may be configured to use.
    pub models: Option<ModelRegistry>,
    /// Opens the page of a sign-in in the user's browser.
    pub open_page: Option<OpenPage>,
}

impl McpOptions {
    /// Creates options for servers outside of a session.
    pub fn new(environment: Environment) -> Self {
        Self { environment, supervisor: None, guard: None, models: None, open_page: None }
    }

    /// Returns the secrets of the session, to which those of servers are added.
    pub(crate) fn secrets(&self) -> Secrets {
        self.guard.as_ref().map(|guard| guard.secrets().clone()).unwrap_or_default()
    }
}

pi_protocol::debug_fields!(McpOptions);

/// Reasons why a server cannot be used now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// There is no server of this name.
    #[error("there is no MCP server \"{0}\"")]
    Unknown(String),
    /// The configuration disables the server.
    #[error("the MCP server \"{0}\" is disabled")]
    Disabled(String),
    /// The server is not connected.
    #[error("the MCP server \"{name}\" is not available: {reason}")]
    Unavailable {
        /// Name of the server.
        name: String,
        /// The reason.
        reason: String,
    },
    /// The user must sign in.
    #[error("the MCP server \"{name}\" requires that you sign in: {reason}")]
    SignIn {
        /// Name of the server.
        name: String,
        /// The reason.
        reason: String,
    },
}
