//! Requests of commands and dialogs to servers, beside their states.

use pi_coding_agent::extension::NotifyKind;
use pi_config::Environment;
use pi_config::mcp::{ConfiguredServer, ServerConfig, Transport};
use pi_mcp::client::Facts;

use crate::fingerprint;
use crate::server::Server;
use crate::servers::{McpServers, Urgency};
use crate::state::ServerState;
use crate::text::{ERROR, clean_line};
use pi_coding_agent::OpenPage;

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

    /// Takes note that a connected server refused a call until the user signs in again, and tells the
    /// user.
    pub(crate) fn needs_sign_in(&self, server: &Server, reason: &str) {
        let Transport::Http(http) = &server.config.transport else { return };
        // A token from the configuration is not replaced by a sign-in.
        if !http.uses_oauth() {
            return;
        }
        let (name, reason) = (&server.name, clean_line(reason, ERROR));
        server.state.send_replace(ServerState::NeedsSignIn(reason.clone()));
        self.0.changed();
        if let Some(context) = self.0.context().filter(|context| context.ui().is_present()) {
            let text = format!("MCP server {name}: {reason}. Sign in with /mcp login {name}");
            context.ui().notify(text, NotifyKind::Warning);
        }
    }

    /// Ends the connection of a server. The next call connects.
    pub async fn end_connection(&self, name: &str) {
        if let Ok(server) = self.find(name) {
            self.disconnect(&server).await;
        }
    }

    /// Changes the configuration of a server in this session. Its connection is replaced.
    pub(crate) fn change_config(&self, name: &str, config: &ServerConfig) {
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

    pub(crate) fn environment(&self) -> &Environment {
        &self.0.options.environment
    }

    pub(crate) fn page_opener(&self) -> Option<OpenPage> {
        self.0.options.open_page.clone()
    }
}
