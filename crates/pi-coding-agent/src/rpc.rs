//! The protocol that other programs drive the agent with: JSON lines in, JSON lines out.
//!
//! [`Command`] is what can be asked, [`serve`] answers it over any pair of streams, [`Client`]
//! asks it of a process. Events and answers share one output; `output` keeps a fast agent from
//! outrunning a slow reader.

mod client;
mod command;
mod handle;
mod output;
mod serve;
mod ui;

pub use client::{Client, ClientError, Record};
pub use command::{Command, Mode, Request};
pub use output::{LineWriter, OutputClosed};
pub use serve::{Ended, serve};
pub use ui::RpcUi;

/// The version of the additions to the protocol; see `hello`.
pub const PROTOCOL_VERSION: u32 = 1;
