//! The MCP servers of a session as a built-in extension: those of files, of the program and of
//! extensions.

use std::sync::Arc;

use pi_coding_agent::extension::Extension;
use pi_coding_agent::session::AgentSession;
use pi_coding_agent::{BuiltinExtension, SessionSurroundings};
use pi_config::Diagnostic;
use pi_config::mcp::{self, Configuration, ConfiguredServer, Origin};

use crate::extension::{McpExtension, PATH};
use crate::options::McpOptions;
use crate::servers::McpServers;

/// Name of the command whose registration by an extension replaces the built-in support.
const COMMAND: &str = "mcp";

/// Returns the built-in extension that gives sessions their MCP servers.
pub fn builtin() -> BuiltinExtension {
    BuiltinExtension::of_session(PATH, open)
}

/// Returns the MCP servers of a session; `None` if it cannot have any.
pub fn servers_of(session: &AgentSession) -> Option<McpServers> {
    Some(session.find_extension::<McpExtension>()?.servers().clone())
}

/// Opens the servers of a session. `None` if there can be none: no server is configured and no
/// extension could register one.
fn open(surroundings: &mut SessionSurroundings<'_>) -> Option<Arc<dyn Extension>> {
    let options = surroundings.options;
    if options.resources.no_mcp {
        return None;
    }
    let mut commands = surroundings.registry.commands().into_iter();
    if let Some(other) = commands.find(|command| command.command.name == COMMAND) {
        surroundings.diagnostics.push(Diagnostic::warning(
            None,
            format!(
                "{} registers the command /mcp, so the built-in support for MCP servers is off",
                other.owner
            ),
        ));
        return None;
    }
    let is_trusted = Arc::clone(&surroundings.is_trusted);
    let configuration = mcp::load(options.environment(), is_trusted());
    surroundings.diagnostics.extend(configuration.errors.iter().cloned());
    let is_empty = configuration.servers.is_empty() && options.extensions.mcp_servers.is_empty();
    if is_empty && !surroundings.registry.has_extensions() {
        return None;
    }
    let mut mcp_options = McpOptions::new(options.environment().clone());
    mcp_options.supervisor.clone_from(&options.tools.supervisor);
    mcp_options.guard = Some(Arc::clone(surroundings.guard));
    mcp_options.models = Some(surroundings.models.clone());
    mcp_options.open_page.clone_from(&options.open_page);
    let servers = McpServers::new(mcp_options);
    let enables_codemode = configuration.enables_codemode();
    servers.set_servers(configured(configuration, &options.extensions.mcp_servers));
    let (environment, own) =
        (options.environment().clone(), options.extensions.mcp_servers.clone());
    let load = move || configured(mcp::load(&environment, is_trusted()), &own);
    Some(Arc::new(McpExtension::new(servers, enables_codemode, Arc::new(load))))
}

/// Returns the servers of files and of the program. A server of the program replaces one of a file.
fn configured(configuration: Configuration, own: &[ConfiguredServer]) -> Vec<ConfiguredServer> {
    let from_files = configuration.servers.into_iter().map(|entry| ConfiguredServer {
        name: entry.name,
        origin: Origin::File { scope: entry.scope, path: entry.source },
        config: entry.config,
    });
    let namespace = |name: &str| mcp::namespace(name);
    let is_replaced = |one: &ConfiguredServer| {
        own.iter().any(|other| namespace(&other.name) == namespace(&one.name))
    };
    let mut all: Vec<ConfiguredServer> = from_files.filter(|one| !is_replaced(one)).collect();
    all.extend(own.iter().cloned());
    all
}
