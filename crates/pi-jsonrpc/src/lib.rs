//! JSON-RPC 2.0, for the Model Context Protocol, the Agent Client Protocol and extensions that are
//! programs.
//!
//! The crate knows requests, notifications, responses and the order in which they travel. It knows
//! no method of any protocol, starts no process and opens no socket.
//!
//! - [`message`]: messages as data, with their parser.
//! - [`calls`]: the table of open calls, without I/O.
//! - [`lines`]: bytes to lines of bounded length, without I/O.
//! - `cut`: ids of messages that cannot be read, without I/O.
//! - [`connection`]: both directions over a reader and a writer. Start reading here.

pub mod calls;
pub mod connection;
mod cut;
pub mod lines;
pub mod message;

pub use calls::Calls;
pub use connection::{CallError, Connection, Ended, Incoming, Limits, Pending, Service};
pub use lines::{Line, Lines, TooLong};
pub use message::{Error, Id, Invalid, Message, Notification, Request, Response};
