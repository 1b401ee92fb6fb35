//! The Model Context Protocol: records of both eras of it, a client and a server.
//!
//! The crate speaks the protocol over pipes and HTTP. It stores nothing, has no user interface
//! and reads no setting: its caller supplies tokens, answers to a server's questions, and processes.
//!
//! - [`protocol`]: records, as JSON.
//! - [`client`]: a connection to a server. Start reading here.
//! - [`server`]: the other end, for both eras.
//! - [`sign_in`]: tokens for servers at a URL.
//! - [`transport`]: pipes and streamable HTTP.

pub mod client;
mod error;
mod inbox;
pub mod protocol;
pub mod server;
pub mod sign_in;
mod text;
pub mod transport;

pub use pi_jsonrpc::connection::BoxFuture;
