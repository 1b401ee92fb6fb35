//! How a request is made: everything that is not the conversation itself.

use std::collections::BTreeMap;
use std::time::Duration;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Model, RequestHooks, ThinkingLevel};

/// Environment variables that win over those of the process, for one request.
pub type EnvOverrides = BTreeMap<String, String>;

/// Options of one request. `Default` is what a user expects: short prompt caching, no thinking,
/// no retries, sane time-outs.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct StreamOptions {
    /// The key, if it is not to be looked up.
    pub api_key: Option<SecretString>,
    /// Variables for key and endpoint look-ups that win over the process environment.
    pub env: EnvOverrides,
    /// Headers to add; `None` removes a default header. Names are case-insensitive.
    pub headers: BTreeMap<String, Option<String>>,
    /// How the client introduces itself.
    pub identity: Identity,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// Whether to try again before an answer has begun.
    pub retry: RetryOptions,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Fields merged last into the body (OpenAI-compatible formats).
    pub sampling_params: Map<String, Value>,
    /// Output tokens at most.
    pub max_tokens: Option<u64>,
    /// How long the provider should keep the prompt cached. `None`: short, unless the
    /// environment says `PI_CACHE_RETENTION=long`.
    pub cache_retention: Option<CacheRetention>,
    /// Ties requests of one conversation together, for cache affinity.
    pub session_id: Option<String>,
    /// Provider-specific facts; Anthropic takes `user_id`.
    pub metadata: Map<String, Value>,
    /// Whether the model may call tools.
    pub tool_choice: Option<ToolChoice>,
    /// How much to think. `None` and `Off` mean not at all.
    pub reasoning: Option<ThinkingLevel>,
    /// Thinking tokens per level, for models that take a number.
    pub thinking_budgets: ThinkingBudgets,
    /// Callbacks into the request.
    pub hooks: RequestHooks,
}

/// How long the provider should keep the prompt cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheRetention {
    /// Ask for no caching, and send nothing that ties requests together.
    None,
    /// Minutes.
    Short,
    /// An hour or a day, where the provider offers it.
    Long,
}

/// Whether the model may call tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolChoice {
    /// As it sees fit.
    Auto,
    /// No.
    None,
    /// It must call one.
    Required,
}

/// Thinking tokens per level; a missing one takes the default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThinkingBudgets {
    /// Default 1,024.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimal: Option<u64>,
    /// Default 2,048.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<u64>,
    /// Default 8,192.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub medium: Option<u64>,
    /// Default 16,384; also used for the levels above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<u64>,
}

/// How long to wait for what. `None` waits for ever. Each ends in an error that says which one
/// it was and that counts as retryable.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// For the connection, TLS included.
    pub connect: Option<Duration>,
    /// From the request to the first byte of the answer's body.
    pub first_byte: Option<Duration>,
    /// Between two pieces of the answer.
    pub idle: Option<Duration>,
}

impl Default for Timeouts {
    /// Connecting is quick or hopeless; a model may think for minutes before and between words.
    fn default() -> Self {
        Self {
            connect: Some(Duration::from_secs(30)),
            first_byte: Some(Duration::from_secs(600)),
            idle: Some(Duration::from_secs(300)),
        }
    }
}

/// Whether to try again when a request fails before an answer has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryOptions {
    /// Further tries after the first.
    pub max_retries: u32,
    /// A server that asks for a longer pause than this fails the request at once. Zero: no limit.
    pub max_delay: Duration,
}

impl RetryOptions {
    /// Options with this number of retries and this longest pause.
    pub fn new(max_retries: u32, max_delay: Duration) -> Self {
        Self { max_retries, max_delay }
    }
}

impl Default for RetryOptions {
    fn default() -> Self {
        Self { max_retries: 0, max_delay: Duration::from_secs(60) }
    }
}

/// How the client introduces itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Identity {
    /// The `User-Agent`; `None` sends the name, version and platform of this library.
    pub user_agent: Option<String>,
    /// The application, for providers that credit one.
    pub attribution: Option<Attribution>,
}

/// The application on whose behalf requests are made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attribution {
    /// Its name.
    pub name: String,
    /// Its home page.
    pub url: Option<String>,
    /// What kind of application it is, in the provider's vocabulary.
    pub categories: Vec<String>,
}

impl Attribution {
    /// An application with this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

/// Setters for the options that most programs need; the others are set as fields.
impl StreamOptions {
    /// Sets the API key.
    #[must_use]
    pub fn with_api_key(mut self, key: impl Into<SecretString>) -> Self {
        self.api_key = Some(key.into());
        self
    }

    /// Sets the thinking level.
    #[must_use]
    pub fn with_reasoning(mut self, level: ThinkingLevel) -> Self {
        self.reasoning = Some(level);
        self
    }

    /// Sets the largest number of output tokens.
    #[must_use]
    pub fn with_max_tokens(mut self, max_tokens: u64) -> Self {
        self.max_tokens = Some(max_tokens);
        self
    }

    /// Sets the session id.
    #[must_use]
    pub fn with_session_id(mut self, id: impl Into<String>) -> Self {
        self.session_id = Some(id.into());
        self
    }

    /// Sets the time limits.
    #[must_use]
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// Sets the retries before an answer begins.
    #[must_use]
    pub fn with_retry(mut self, retry: RetryOptions) -> Self {
        self.retry = retry;
        self
    }

    /// Sets the callbacks into the request.
    #[must_use]
    pub fn with_hooks(mut self, hooks: RequestHooks) -> Self {
        self.hooks = hooks;
        self
    }

    /// The thinking level asked for and offered by `model`; `None` when it should not think.
    pub fn thinking_for(&self, model: &Model) -> Option<ThinkingLevel> {
        let wanted = self.reasoning.filter(|level| *level != ThinkingLevel::Off)?;
        Some(model.clamp_thinking(wanted)).filter(|level| *level != ThinkingLevel::Off)
    }
}
