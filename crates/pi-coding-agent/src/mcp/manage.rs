//! What commands and dialogs ask of servers, beside their states.

use pi_guard::secrets::Secrets;
use pi_mcp::client::Facts;

use super::command::OpenPage;
use super::config::ServerConfig;
use super::fingerprint;
use super::servers::{McpOptions, McpServers, Urgency};
use super::state::ConfiguredServer;
use crate::Environment;

impl McpOptions {
    /// Returns the secrets of the session, to which those of servers are added.
    pub(super) fn secrets(&self) -> Secrets {
        self.guard.as_ref().map(|guard| guard.secrets().clone()).unwrap_or_default()
    }
}

impl McpServers {
    /// Returns what is known of a connected server.
    pub fn facts(&self, name: &str) -> Option<Facts> {
        self.find(name).ok()?.client().map(|client| client.facts())
    }

    /// Returns the tools of a server that are not what they were when they were first used.
    pub fn changed_tools(&self, name: &str) -> Vec<String> {
        let Ok(server) = self.find(name) else { return Vec::new() };
        let Some(lists) = server.lists(&self.0.cache) else { return Vec::new() };
        let is_changed = |tool: &&pi_mcp::protocol::Tool| {
            let hash = fingerprint::of_tool(tool);
            self.0.pins.is_changed(server.fingerprint(), &tool.name, &hash)
        };
        lists.tools.iter().filter(is_changed).map(|tool| tool.name.clone()).collect()
    }

    /// Ends the connection of a server. The next call connects.
    pub async fn end_connection(&self, name: &str) {
        if let Ok(server) = self.find(name) {
            self.disconnect(&server).await;
        }
    }

    /// Changes the configuration of a server in this session. Its connection is replaced.
    pub(super) fn change_config(&self, name: &str, config: &ServerConfig) {
        let changed = self.all().into_iter().map(|server| ConfiguredServer {
            name: server.name.clone(),
            origin: server.origin.clone(),
            config: if server.name == name { config.clone() } else { server.config.clone() },
        });
        self.set_servers(changed.collect());
        if let Ok(server) = self.find(name) {
            self.0.start(&server, Urgency::Needed);
        }
    }

    pub(super) fn environment(&self) -> &Environment {
        &self.0.options.environment
    }

    pub(super) fn page_opener(&self) -> Option<OpenPage> {
        self.0.options.open_page.clone()
    }
}
