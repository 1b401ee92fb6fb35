//! The servers that a session is to have, from any origin, and the names of their tools.

use std::path::PathBuf;

use super::{Scope, ServerConfig};

/// Tools for the resources of servers.
pub const RESOURCE_TOOLS: [&str; 3] =
    ["list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource"];

/// Returns true if a name is that of a server's tool, or of a tool for the resources of servers.
pub fn is_mcp_tool(name: &str) -> bool {
    name.starts_with("mcp__") || RESOURCE_TOOLS.contains(&name)
}

/// The origin of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A configuration file.
    File {
        /// Owner of the file.
        scope: Scope,
        /// The file.
        path: PathBuf,
    },
    /// An extension, by its path.
    Extension(String),
    /// The program that created the session, such as an editor.
    Program,
}

/// A server that a session is to have.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfiguredServer {
    /// Name of the server.
    pub name: String,
    /// Origin of the server.
    pub origin: Origin,
    /// Configuration of the server.
    pub config: ServerConfig,
}
