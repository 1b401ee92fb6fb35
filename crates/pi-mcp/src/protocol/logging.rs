//! Log messages of a server.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The weight of a log message, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoggingLevel {
    /// For the authors of the server.
    Debug,
    /// Ordinary events.
    Info,
    /// Notable events.
    Notice,
    /// Something may go wrong.
    Warning,
    /// Something went wrong.
    Error,
    /// A part of the server failed.
    Critical,
    /// A person must act.
    Alert,
    /// The server cannot go on.
    Emergency,
}

impl LoggingLevel {
    /// Reads a level; `None` if the value is not the name of one.
    pub fn from_value(value: &Value) -> Option<Self> {
        Self::deserialize(value).ok()
    }

    /// Returns the name of the level.
    pub fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }
}

/// A log message of the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogMessage {
    /// Severity of the message.
    pub level: LoggingLevel,
    /// Part of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logger: Option<String>,
    /// The message: a text or any JSON value.
    #[serde(default)]
    pub data: Value,
}
