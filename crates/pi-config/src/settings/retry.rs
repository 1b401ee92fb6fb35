//! Retries of failed turns.

/// Retries of failed requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetrySettings {
    /// Enables retries.
    pub enabled: bool,
    /// Number of attempts after the first.
    pub max_retries: u32,
    /// First pause in milliseconds; each later one is twice as long.
    pub base_delay_ms: u64,
    /// Upper limit of a pause in milliseconds.
    pub max_delay_ms: u64,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self { enabled: true, max_retries: 3, base_delay_ms: 2_000, max_delay_ms: 60_000 }
    }
}
