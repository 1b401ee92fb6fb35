//! The protocol with which other programs drive the agent: JSON lines in, JSON lines out.
//!
//! [`Command`] lists the commands, [`serve`] executes them over any pair of streams, [`execute`]
//! executes one of them for a server of its own form, [`Client`] sends them to a process. Events and responses share one output; `output` slows an agent down to
//! the speed of its reader.

mod client;
mod command;
mod handle;
mod output;
mod response;
mod serve;
mod ui;
mod ui_records;

pub use client::{Client, ClientError, Record};
pub use command::{Command, Request};
pub use handle::{Executed, execute};
pub use output::{LineWriter, OutputClosed};
pub use response::Response;
pub use serve::{Ended, serve};
pub use ui::RpcUi;
pub use ui_records::{UiRequest, dialog_answer};

/// The version of the additions to the protocol; see `hello`.
pub const PROTOCOL_VERSION: u32 = 1;
