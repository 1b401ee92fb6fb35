//! Thinking levels: how much a model should think, in words that fit every provider.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Model;
use crate::options::ThinkingBudgets;

/// How much to think. The order is meaningful.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingLevel {
    /// Not at all.
    Off,
    /// As little as possible.
    Minimal,
    /// A little.
    Low,
    /// Moderately.
    Medium,
    /// Much.
    High,
    /// More than most models offer.
    Xhigh,
    /// As much as the model can.
    Max,
}

/// The tokens that stay free for the answer when thinking takes from the same allowance.
const ANSWER_RESERVE: u64 = 1024;

impl ThinkingLevel {
    /// All levels, lowest first.
    pub const ALL: [Self; 7] =
        [Self::Off, Self::Minimal, Self::Low, Self::Medium, Self::High, Self::Xhigh, Self::Max];

    /// The name used in files, flags and requests.
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

    /// Thinking tokens for models that are given a number instead of a level.
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
    /// `base` is what the caller asked for as answer, `model_max` the model's own limit.
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
    /// Thinking and answer together.
    pub max_tokens: u64,
    /// The part of `max_tokens` for thinking.
    pub thinking: u64,
}

impl fmt::Display for ThinkingLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is not the name of a thinking level.
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

impl Model {
    /// The levels this model offers, lowest first.
    pub fn thinking_levels(&self) -> Vec<ThinkingLevel> {
        if !self.reasoning {
            return vec![ThinkingLevel::Off];
        }
        ThinkingLevel::ALL
            .into_iter()
            .filter(|level| match self.thinking_level_map.get(level) {
                Some(mapped) => mapped.is_some(),
                // The two highest levels exist only where the record names them.
                None => *level < ThinkingLevel::Xhigh,
            })
            .collect()
    }

    /// The level closest to `wanted` that this model offers: the next higher one, else the next
    /// lower one.
    pub fn clamp_thinking(&self, wanted: ThinkingLevel) -> ThinkingLevel {
        let offered = self.thinking_levels();
        let above = offered.iter().find(|level| **level >= wanted);
        let below = || offered.iter().rev().find(|level| **level < wanted);
        above.or_else(below).copied().unwrap_or(ThinkingLevel::Off)
    }

    /// The provider's own word for a level, where the record gives one.
    pub fn mapped_thinking(&self, level: ThinkingLevel) -> Option<&str> {
        self.thinking_level_map.get(&level)?.as_deref()
    }

    /// The record says that this level does not exist.
    pub fn lacks_thinking(&self, level: ThinkingLevel) -> bool {
        matches!(self.thinking_level_map.get(&level), Some(None))
    }
}
