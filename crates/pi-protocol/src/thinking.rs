//! Thinking levels: the amount of thinking, in terms that fit every provider.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The amount of thinking, in ascending order. The highest levels exist only on some models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // The names and their order say it.
pub enum ThinkingLevel {
    Off,
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
    Max,
}

/// Thinking tokens per level. `None` is the default of the level.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThinkingBudgets {
    /// Defaults to 1,024 tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimal: Option<u64>,
    /// Defaults to 2,048 tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<u64>,
    /// Defaults to 8,192 tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub medium: Option<u64>,
    /// Defaults to 16,384 tokens; also used for the levels above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<u64>,
}

/// Tokens reserved for the answer if thinking counts as output.
const ANSWER_RESERVE: u64 = 1024;

impl ThinkingLevel {
    /// All levels, lowest first.
    pub const ALL: [Self; 7] =
        [Self::Off, Self::Minimal, Self::Low, Self::Medium, Self::High, Self::Xhigh, Self::Max];

    /// Returns the name used in files and requests.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }

    /// Returns the thinking tokens for models that accept a number instead of a level.
    pub fn budget(self, custom: &ThinkingBudgets) -> u64 {
        match self {
            Self::Off => 0,
            Self::Minimal => custom.minimal.unwrap_or(1024),
            Self::Low => custom.low.unwrap_or(2048),
            Self::Medium => custom.medium.unwrap_or(8192),
            Self::High | Self::Xhigh | Self::Max => custom.high.unwrap_or(16384),
        }
    }

    /// Splits the output allowance of a model that counts thinking as output.
    ///
    /// `base` is the requested length of the answer, `model_max` the limit of the model.
    /// The answer keeps at least 1,024 tokens.
    pub fn split_allowance(
        self,
        base: Option<u64>,
        model_max: u64,
        custom: &ThinkingBudgets,
    ) -> TokenAllowance {
        let budget = self.budget(custom);
        let max_tokens = base.map_or(model_max, |base| base.saturating_add(budget).min(model_max));
        let thinking = if max_tokens <= budget {
            budget.min(max_tokens.saturating_sub(ANSWER_RESERVE))
        } else {
            budget
        };
        TokenAllowance { max_tokens, thinking }
    }
}

/// The output tokens of a request to a model that counts thinking as output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenAllowance {
    /// Tokens for thinking and answer together.
    pub max_tokens: u64,
    /// The part of `max_tokens` for thinking.
    pub thinking: u64,
}

impl fmt::Display for ThinkingLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text is not the name of a thinking level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown thinking level \"{0}\": use off, minimal, low, medium, high, xhigh or max")]
pub struct UnknownThinkingLevel(String);

impl FromStr for ThinkingLevel {
    type Err = UnknownThinkingLevel;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|level| level.as_str() == text)
            .ok_or_else(|| UnknownThinkingLevel(text.to_owned()))
    }
}
