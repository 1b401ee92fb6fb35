//! The Agent Client Protocol: sessions of pi for editors and other agents.
//!
//! [`serve`] answers one client over a reader and a writer, in version 1 of the protocol or in the
//! draft of version 2, as the client wants, with the sessions of a host ([`pi_host::Host`]).
//!
//! - `server`: the methods. `handshake`, `params`, `errors` and `wire` are the forms of the two
//!   versions; `update` is what is reported, independent of the version.
//! - `session`: one session, its prompts and settings. `events` reports what happens in it,
//!   `replay` what has happened; `tool_calls`, `patch` and `content` convert calls, changes of
//!   files and prompts.
//! - `ui`: the user at the client. `executor` and `terminal`: its files and terminals.
//! - `outbox`: reports on their way, so that a slow client holds nothing back.
//! - `store`: the sessions of the user. They are those of pi itself, so that a session of an editor
//!   continues in the terminal.

mod client;
mod config;
mod content;
mod errors;
mod events;
mod executor;
mod handshake;
mod mcp_servers;
mod options;
mod outbox;
mod params;
mod patch;
mod replay;
mod server;
mod session;
mod store;
mod terminal;
mod tool_calls;
mod ui;
mod update;
mod wire;

pub use options::Options;
pub use pi_jsonrpc::Ended;
pub use server::serve;
