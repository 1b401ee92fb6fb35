//! The terminal besides drawing: its modes, what it can do, and sequences that show nothing.

#[cfg(unix)]
pub mod guard;
pub mod modes;
pub mod start;
#[cfg(test)]
mod tests;

#[cfg(unix)]
pub use guard::{Guard, Size, TerminalError};
pub use modes::{Mode, Modes};
pub use start::{Change, Keyboard, Queries, Startup};
