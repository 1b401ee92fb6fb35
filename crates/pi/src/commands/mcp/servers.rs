//! Connections of commands.

use std::sync::Arc;

use pi_coding_agent::guard::Guard;
use pi_coding_agent::{AgentOptions, load_guard};
use pi_config::mcp::{ConfiguredServer, Origin, ServerEntry};
use pi_host::credentials::Credentials;
use pi_mcp_host::{McpOptions, McpServers};
use pi_tools::supervisor::Supervisor;

use super::{Failure, Loaded};

/// Returns the owner of the processes of servers.
fn supervisor() -> Option<Supervisor> {
    cfg!(target_os = "linux").then(Supervisor::this_program)
}

/// Returns the guard that a session here would have.
pub(super) fn guard(loaded: &Loaded) -> Result<Arc<Guard>, Failure> {
    let mut options = AgentOptions::in_project(loaded.project.clone());
    options.tools.supervisor = supervisor();
    Ok(Arc::new(load_guard(&options)?))
}

/// Returns servers that are not connected yet. The guard decides about hosts, and confines programs,
/// as in a session.
pub(super) fn open(loaded: &Loaded, entries: &[&ServerEntry], guard: &Arc<Guard>) -> McpServers {
    let mut options = McpOptions::new(loaded.project.environment().clone());
    options.supervisor = supervisor();
    options.guard = Some(Arc::clone(guard));
    options.models = Some(Credentials::open(&loaded.project).registry);
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
