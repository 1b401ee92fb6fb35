//! The MCP servers of a session: those of files, of the program and of extensions.

use std::sync::Arc;

use super::services::Services;
use crate::Diagnostic;
use crate::extension::Registry;
use crate::guard::Guard;
use crate::mcp::config::{self, Configuration};
use crate::mcp::{ConfiguredServer, McpExtension, McpOptions, McpServers, Origin};

/// Name of the command whose registration by an extension replaces the built-in support.
const COMMAND: &str = "mcp";

impl Services {
    /// Returns the servers of a session, and the extension that brings them into it. `None` if
    /// there can be none: no server is configured and no extension could register one.
    pub(super) fn mcp(
        &self,
        guard: &Arc<Guard>,
        registry: &Registry,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<(McpServers, McpExtension)> {
        let options = &self.options;
        if options.resources.no_mcp {
            return None;
        }
        let replaced =
            registry.commands().into_iter().find(|command| command.command.name == COMMAND);
        if let Some(other) = replaced {
            diagnostics.push(Diagnostic::warning(
                None,
                format!(
                    "{} registers the command /mcp, so the built-in support for MCP servers is off",
                    other.owner
                ),
            ));
            return None;
        }
        let configuration = config::load(&options.environment, self.is_project_trusted());
        diagnostics.extend(configuration.errors.iter().cloned());
        let is_empty = configuration.servers.is_empty() && options.mcp_servers.is_empty();
        if is_empty && !registry.has_extensions() {
            return None;
        }
        let mut surroundings = McpOptions::new(options.environment.clone());
        surroundings.supervisor.clone_from(&options.supervisor);
        surroundings.guard = Some(Arc::clone(guard));
        surroundings.models = Some(self.registry.clone());
        surroundings.open_page.clone_from(&options.open_page);
        let servers = McpServers::new(surroundings);
        let enables_codemode = configuration.enables_codemode();
        servers.set_servers(configured(configuration, &options.mcp_servers));
        let services = self.clone();
        let load = move || {
            let environment = &services.options.environment;
            let configuration = config::load(environment, services.is_project_trusted());
            configured(configuration, &services.options.mcp_servers)
        };
        let extension = McpExtension::new(servers.clone(), enables_codemode, Arc::new(load));
        Some((servers, extension))
    }
}

/// Returns the servers of files and of the program. A server of the program replaces one of a file.
fn configured(configuration: Configuration, own: &[ConfiguredServer]) -> Vec<ConfiguredServer> {
    let from_files = configuration.servers.into_iter().map(|entry| ConfiguredServer {
        name: entry.name,
        origin: Origin::File { scope: entry.scope, path: entry.source },
        config: entry.config,
    });
    let namespace = |name: &str| config::namespace(name);
    let is_replaced = |one: &ConfiguredServer| {
        own.iter().any(|other| namespace(&other.name) == namespace(&one.name))
    };
    let mut all: Vec<ConfiguredServer> = from_files.filter(|one| !is_replaced(one)).collect();
    all.extend(own.iter().cloned());
    all
}
