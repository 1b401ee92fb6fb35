//! MCP servers that extensions register.

use std::sync::Arc;

use pi_config::mcp::ServerConfig;
use serde_json::Value;

use super::{Owned, Registry, RegistryError};

/// An MCP server of an extension.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct McpRegistration {
    /// Name of the server.
    pub name: String,
    /// Configuration, as `mcp.json` has it under `mcpServers`.
    pub config: Value,
}

/// Called after servers were registered or removed.
pub(super) type ObserveServers = Arc<dyn Fn() + Send + Sync>;

impl Registry {
    /// Registers an MCP server, or changes one of the same extension. A server of a file with this
    /// name takes precedence. `auth` and approvals that allow calls are refused: only the user's file
    /// can have them.
    pub fn register_mcp_server(
        &self,
        owner: &str,
        name: &str,
        config: Value,
    ) -> Result<(), RegistryError> {
        let parsed = ServerConfig::parse(name, &config);
        let checked = parsed.and_then(|parsed| parsed.check_foreign());
        checked.map_err(|problem| RegistryError::McpServer {
            name: name.to_owned(),
            owner: owner.to_owned(),
            problem,
        })?;
        let observe = {
            let mut contents = self.contents();
            let servers = &mut contents.mcp_servers;
            let server = McpRegistration { name: name.to_owned(), config };
            match servers.iter().position(|other| other.item.name == name) {
                Some(at) if *servers[at].owner == *owner => servers[at].item = server,
                Some(at) => {
                    let owner = servers[at].owner.to_string();
                    return Err(RegistryError::McpConflict { name: name.to_owned(), owner });
                }
                None => servers.push(Owned::new(owner, server)),
            }
            contents.changed();
            contents.on_mcp_servers.clone()
        };
        if let Some(observe) = observe {
            observe();
        }
        Ok(())
    }

    /// Removes an MCP server; returns true if the owner had registered it.
    pub fn unregister_mcp_server(&self, owner: &str, name: &str) -> bool {
        let observe = {
            let mut contents = self.contents();
            let before = contents.mcp_servers.len();
            contents
                .mcp_servers
                .retain(|server| *server.owner != *owner || server.item.name != name);
            if contents.mcp_servers.len() == before {
                return false;
            }
            contents.changed();
            contents.on_mcp_servers.clone()
        };
        if let Some(observe) = observe {
            observe();
        }
        true
    }

    /// Returns the registered MCP servers with the paths of their extensions, in order.
    pub fn mcp_servers(&self) -> Vec<(String, McpRegistration)> {
        let contents = self.contents();
        let servers = contents.mcp_servers.iter();
        servers.map(|server| (server.owner.to_string(), server.item.clone())).collect()
    }

    /// Calls `observe` after servers were registered or removed.
    pub fn observe_mcp_servers(&self, observe: Arc<dyn Fn() + Send + Sync>) {
        self.contents().on_mcp_servers = Some(observe);
    }
}
