//! `/api/v1/rpc`: the protocol of RPC mode over a WebSocket, for several sessions and several
//! clients.
//!
//! [`connection`] reads frames and runs commands, `outbox` holds what waits for the client,
//! [`crate::attached`] follows a session, `ui` asks the user at the client. [`command`] lists the commands of
//! the server and the right that each command needs. Must not know how a session is stored or run.

pub(crate) mod command;
pub(crate) mod connection;
mod execute;
mod operations;
mod outbox;
mod ui;
