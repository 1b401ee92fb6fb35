//! Limits that a provider reported with a response, in one form for all providers.

use serde::{Deserialize, Serialize};

/// The limits of a provider at the time of a response. Every part may be missing: providers report
/// what they limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct RateLimits {
    /// Number of requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<RateLimit>,
    /// Input and output tokens together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<RateLimit>,
    /// Input tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<RateLimit>,
    /// Output tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<RateLimit>,
    /// Windows of a subscription, which are reported as a used share.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<UsageWindow>,
    /// The pause before the next request that the server asked for, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// The limit of one resource. If a provider limits it over several periods, the period that is
/// closest to its limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct RateLimit {
    /// The amount that is allowed in a period.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The amount that is left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining: Option<u64>,
    /// The time at which the limit is reset, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset: Option<u64>,
    /// The name of the period, if the provider names it: `minute`, `day`, `month`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<String>,
}

/// A window of a subscription.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct UsageWindow {
    /// The name of the window, as the provider calls it.
    pub name: String,
    /// The used share in percent. More than 100 if the provider allows an overrun.
    pub used_percent: u32,
    /// The length of the window in minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u64>,
    /// The time at which the window is reset, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset: Option<u64>,
}

impl RateLimits {
    /// Returns true if the provider reported nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the limits by the name of the resource, without those that are unknown.
    pub fn resources(&self) -> impl Iterator<Item = (&'static str, &RateLimit)> {
        [
            ("requests", &self.requests),
            ("tokens", &self.tokens),
            ("input tokens", &self.input_tokens),
            ("output tokens", &self.output_tokens),
        ]
        .into_iter()
        .filter_map(|(name, limit)| Some((name, limit.as_ref()?)))
    }
}

impl RateLimit {
    /// Returns true if nothing is known about the limit.
    pub fn is_empty(&self) -> bool {
        self.limit.is_none() && self.remaining.is_none() && self.reset.is_none()
    }

    /// Returns the share that is left, between 0 and 1, if the provider reported both numbers.
    pub fn remaining_share(&self) -> Option<f64> {
        let (remaining, limit) = (self.remaining?, self.limit?);
        (limit > 0).then(|| (remaining as f64 / limit as f64).min(1.0))
    }
}
