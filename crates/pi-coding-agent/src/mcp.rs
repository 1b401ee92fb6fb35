//! Servers of the Model Context Protocol in sessions: their configuration, connections and tools.
//!
//! [`config`] reads and changes `mcp.json`. [`McpServers`] holds the servers of a session
//! (`options`): a `server` has a state, lists and a connection (`connect`, `process`, `handler`,
//! `log`), its lists outlive sessions (`cache`). `extension` brings them into a session: it registers
//! what `register` makes of the lists (`names`, `parameters`, `text`, `tool`, `result`, `images`,
//! `resources`, `watched`, `prompts`), adds the `section` of the system prompt, and judges calls
//! (`judge`, `pins`).
//! `elicitation` and `sampling` answer the questions of servers.
//!
//! No call of a server's tool escapes the guard, and no server delays the start of a session.

pub mod auth;
mod cache;
mod command;
pub mod config;
mod connect;
mod elicitation;
mod extension;
mod fingerprint;
mod handler;
mod images;
mod judge;
mod log;
mod manage;
mod names;
mod options;
mod parameters;
mod pins;
mod process;
mod prompts;
mod register;
mod resources;
mod result;
mod sampling;
mod section;
mod server;
mod servers;
mod state;
mod text;
mod tool;
mod watched;

pub use command::OpenPage;
pub(crate) use extension::McpExtension;
pub(crate) use names::is_mcp_tool;
pub use names::tool_name;
pub use options::{McpOptions, ServerError};
pub use servers::McpServers;
pub use state::{ConfiguredServer, Origin, ServerState, ServerStatus};
