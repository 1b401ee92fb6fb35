//! Limits of a JavaScript runtime.

use std::time::Duration;

/// Limits of a JavaScript runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that all values of the runtime may use.
    pub memory: usize,
    /// Bytes of stack for nested calls.
    pub stack: usize,
    /// Time that one handler may run without waiting for anything.
    pub slice: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory: 512 << 20, stack: 4 << 20, slice: Duration::from_secs(10) }
    }
}
