//! The interactive mode.

#[allow(dead_code)] // The event loop that uses it comes next.
mod transcript;
