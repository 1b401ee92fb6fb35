//! Misses of the prompt cache, as sessions record them.

use std::fmt;

use pi_protocol::{EntryBody, number};
use serde::{Deserialize, Serialize};

/// Type of the custom entry that records a miss. It follows the answer that paid for the miss.
pub const CACHE_MISS_ENTRY: &str = "pi.cache-miss";

/// A request whose prompt should have been in the cache of the provider, and was not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CacheMiss {
    /// Reason, as far as it can be told.
    #[serde(flatten)]
    pub reason: MissReason,
    /// Tokens of the previous prompt that were not read from the cache.
    #[serde(default)]
    pub missed_tokens: u64,
    /// US dollars that a hit would have saved; 0 if the prices are unknown.
    #[serde(default, with = "number::js")]
    pub missed_cost: f64,
    /// Milliseconds since the cache was last used.
    #[serde(default, with = "number::js")]
    pub idle_ms: f64,
}

/// Reason why a prompt was not in the cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum MissReason {
    /// Another model answered before; each model has its own cache.
    ModelChanged,
    /// The system prompt changed.
    SystemPromptChanged,
    /// The tools changed.
    ToolsChanged,
    /// A message before the end of the previous prompt changed.
    PrefixChanged {
        /// Number of the first message that differs, counted from 1.
        message: u64,
    },
    /// The provider had forgotten the prompt.
    Expired,
    /// The thinking level changed.
    ThinkingChanged,
    /// The prompt was the same and recent: the provider did not find it.
    #[serde(other)]
    Unknown,
}

impl MissReason {
    /// Returns the name of the reason in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::ModelChanged => "model-changed",
            Self::SystemPromptChanged => "system-prompt-changed",
            Self::ToolsChanged => "tools-changed",
            Self::PrefixChanged { .. } => "prefix-changed",
            Self::Expired => "expired",
            Self::ThinkingChanged => "thinking-changed",
            Self::Unknown => "unknown",
        }
    }
}

impl CacheMiss {
    /// Creates a record.
    pub fn new(reason: MissReason, missed_tokens: u64, missed_cost: f64, idle_ms: f64) -> Self {
        Self { reason, missed_tokens, missed_cost, idle_ms }
    }

    /// Returns the miss that an entry records; `None` for other entries and for damaged records.
    pub fn of(entry: &EntryBody) -> Option<Self> {
        match entry {
            EntryBody::Custom { custom_type, data: Some(data) }
                if custom_type == CACHE_MISS_ENTRY =>
            {
                serde_json::from_value(data.clone()).ok()
            }
            _ => None,
        }
    }

    /// Returns a sentence for people, with the size, the price if it is known, and the reason.
    pub fn notice(&self) -> String {
        let price = match self.missed_cost > 0.0 {
            true => format!(" (${:.4})", self.missed_cost),
            false => String::new(),
        };
        let tokens = self.missed_tokens;
        format!("{tokens} tokens were not read from the prompt cache{price}: {self}")
    }
}

/// Describes the reason in a few words.
impl fmt::Display for CacheMiss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            MissReason::ModelChanged => f.write_str("the model changed"),
            MissReason::SystemPromptChanged => f.write_str("the system prompt changed"),
            MissReason::ToolsChanged => f.write_str("the tools changed"),
            MissReason::PrefixChanged { message } => {
                write!(f, "the prompt changed at message {message}")
            }
            MissReason::Expired => {
                let minutes = (self.idle_ms / 60_000.0).floor();
                write!(f, "the cache expired after {minutes} min without a request")
            }
            MissReason::ThinkingChanged => f.write_str("the thinking level changed"),
            MissReason::Unknown => f.write_str("the provider did not find the prompt"),
        }
    }
}
