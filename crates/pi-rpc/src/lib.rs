//! The protocol with which other programs drive the agent: JSON lines in, JSON lines out.
//!
#![doc = include_str!("../README.md")]
//!
//! # What this crate must not know
//!
//! Standard streams, arguments and processes: callers pass any pair of streams in.
//!
//! # Where to start reading
//!
//! [`Command`] lists the commands, [`serve`] executes them over streams, [`execute`] executes one of
//! them for a server of its own form, [`Client`] sends them to a process.

mod client;
mod command;
mod handle;
mod output;
mod response;
mod serve;
mod ui;

pub use client::{Client, ClientError, Record};
pub use command::{Command, Request};
pub use handle::{Executed, execute};
pub use output::{LineWriter, OutputClosed};
pub use response::Response;
pub use serve::{Ended, serve};
pub use ui::RpcUi;

/// The version of the additions to the protocol; see `hello`.
pub const PROTOCOL_VERSION: u32 = 1;
