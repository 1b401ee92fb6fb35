//! Servers of the Model Context Protocol in sessions: their connections, tools and sign-ins.
//!
//! A program adds them to its sessions as a built-in extension ([`builtin`]). Which servers there
//! are is configuration: `mcp.json` ([`pi_config::mcp`]), the options of the session, and what
//! extensions register.
//!
//! # What this crate must not know
//!
//! Terminals, arguments, front ends. It reaches a session only as every extension does. No call of a
//! server's tool escapes the guard, and no server delays the start of a session.
//!
//! # Where to start reading
//!
//! [`McpServers`] holds the servers of a session (`options`): a `server` has a state, lists and a
//! connection (`connect`, `process`, `handler`, `log`), its lists outlive sessions (`cache`).
//! `extension` brings them into a session: it registers what `register` makes of the lists (`names`,
//! `parameters`, `text`, `tool`, `result`, `images`, `resources`, `watched`, `prompts`), adds the
//! `section` of the system prompt, and judges calls (`judge`, `pins`). `elicitation` and `sampling`
//! answer the questions of servers.

/// The example of the README, compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;

pub mod auth;
mod cache;
mod command;
mod elicitation;
mod extension;
mod fingerprint;
mod images;
mod judge;
mod log;
mod manage;
mod names;
mod open;
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

pub use extension::McpExtension;
pub use names::tool_name;
pub use open::{builtin, servers_of};
pub use options::{McpOptions, ServerError};
pub use servers::McpServers;
pub use state::{ServerState, ServerStatus};
