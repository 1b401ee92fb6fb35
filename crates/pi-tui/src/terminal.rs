//! The terminal besides drawing: its modes, what it can do, and sequences that show nothing.

pub mod capabilities;
pub mod clipboard;
#[cfg(unix)]
pub mod guard;
pub mod modes;
pub mod sequences;
pub mod start;
#[cfg(test)]
mod tests;

pub use capabilities::{Capabilities, ImageProtocol, Multiplexer, Notification, Reflow};
#[cfg(unix)]
pub use guard::{Guard, Size, TerminalError};
pub use modes::{Mode, Modes};
pub use start::{Change, Keyboard, Queries, Startup};
