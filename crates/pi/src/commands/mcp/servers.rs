//! Connections of commands.

use std::sync::Arc;

use pi_coding_agent::guard::Guard;
use pi_coding_agent::mcp::config::ServerEntry;
use pi_coding_agent::mcp::{ConfiguredServer, McpOptions, McpServers, Origin};
use pi_tools::supervisor::Supervisor;

use super::Loaded;

/// Returns the owner of the processes of servers.
pub(super) fn supervisor() -> Option<Supervisor> {
    cfg!(target_os = "linux").then(Supervisor::this_program)
}

/// Returns servers that are not connected yet. A guard decides about hosts, and confines programs.
pub(super) fn open(loaded: &Loaded, entries: &[&ServerEntry], guard: Option<Guard>) -> McpServers {
    let mut options = McpOptions::new(loaded.environment.clone());
    options.supervisor = supervisor();
    options.guard = guard.map(Arc::new);
    let servers = McpServers::new(options);
    let configured = entries.iter().map(|entry| ConfiguredServer {
        name: entry.name.clone(),
        origin: Origin::File { scope: entry.scope, path: entry.source.clone() },
        config: entry.config.clone(),
    });
    servers.set_servers(configured.collect());
    servers
}

/// Connects all enabled servers at the same time. Their states tell the results.
pub(super) async fn connect(servers: &McpServers) {
    let states = servers.states();
    let enabled = states.iter().filter(|state| state.config.enabled);
    futures_util::future::join_all(enabled.map(|state| servers.connect(&state.name))).await;
}
