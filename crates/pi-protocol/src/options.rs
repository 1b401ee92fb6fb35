//! Options of a request: everything except the conversation itself.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{HeaderChanges, Model, OutputSchema, RequestHooks, ThinkingBudgets, ThinkingLevel};

/// Environment variables of one request, which win over those of the process.
pub type EnvOverrides = BTreeMap<String, String>;

/// Options of one request. The default is short prompt caching, no thinking, no retries and the
/// limits of [`Timeouts::default`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct StreamOptions {
    /// The API key. `None` looks it up in the configuration and the environment.
    pub api_key: Option<SecretString>,
    /// Variables for the lookup of key and endpoint, which win over the process environment.
    pub env: EnvOverrides,
    /// Headers to add; `None` removes a default header. Names are case-insensitive.
    pub headers: HeaderChanges,
    /// The names under which requests are made.
    pub identity: Identity,
    /// Time limits of the request.
    pub timeouts: Timeouts,
    /// Retries before an answer begins.
    pub retry: RetryOptions,
    /// The connection to providers that offer more than one kind.
    pub transport: Transport,
    /// The sampling temperature.
    pub temperature: Option<f64>,
    /// Fields that are merged into the body last (OpenAI-compatible formats).
    pub sampling_params: Map<String, Value>,
    /// Largest number of output tokens.
    pub max_tokens: Option<u64>,
    /// Requested lifetime of the cached prompt. `None` is short, unless the environment has
    /// `PI_CACHE_RETENTION=long`.
    pub cache_retention: Option<CacheRetention>,
    /// Id shared by the requests of one session, for cache affinity.
    pub session_id: Option<String>,
    /// Provider-specific metadata; Anthropic accepts `user_id`.
    pub metadata: Map<String, Value>,
    /// Constraint on tool calls.
    pub tool_choice: Option<ToolChoice>,
    /// Constrains the final answer to a JSON Schema, if the provider supports it.
    pub output_schema: Option<Arc<OutputSchema>>,
    /// The thinking level. `None` and `Off` request no thinking.
    pub reasoning: Option<ThinkingLevel>,
    /// Thinking tokens per level, for models that accept a number.
    pub thinking_budgets: ThinkingBudgets,
    /// Callbacks of the application.
    pub hooks: RequestHooks,
}

/// Requested lifetime of the cached prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheRetention {
    /// Requests no caching and sends nothing that connects requests to each other.
    None,
    /// Keeps the prompt for minutes.
    Short,
    /// Keeps the prompt for an hour or a day, if the provider supports it.
    Long,
}

/// The connection over which a request is sent. Only a provider that offers WebSockets takes notice;
/// all others use HTTP with server-sent events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Transport {
    /// A WebSocket that stays open for the session and sends only what is new, or server-sent
    /// events if that fails.
    #[default]
    Auto,
    /// HTTP with server-sent events.
    Sse,
    /// A WebSocket that stays open; every request is sent whole.
    Websocket,
    /// A WebSocket that stays open and sends only what is new.
    WebsocketCached,
}

/// Constraint on the tool calls of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// The model must not call a tool.
    None,
    /// The model must call a tool.
    Required,
}

/// Time limits of a request. `None` is no limit. An exceeded limit is a retryable error that names
/// the limit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// Limit for the connection, TLS included.
    pub connect: Option<Duration>,
    /// Limit from the request to the first byte of the response body.
    pub first_byte: Option<Duration>,
    /// Limit between two chunks of the response body.
    pub idle: Option<Duration>,
    /// Limit for opening a WebSocket.
    pub websocket_connect: Option<Duration>,
}

impl Default for Timeouts {
    /// A connection is made quickly or not at all, but a model may think for minutes before and
    /// between words.
    fn default() -> Self {
        Self {
            connect: Some(Duration::from_secs(30)),
            first_byte: Some(Duration::from_secs(600)),
            idle: Some(Duration::from_secs(300)),
            websocket_connect: Some(Duration::from_secs(15)),
        }
    }
}

/// Retries of a request that fails before an answer begins.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryOptions {
    /// Largest number of retries after the first attempt.
    pub max_retries: u32,
    /// Longest pause that a server may request; a longer one fails the request. Zero is no limit.
    pub max_delay: Duration,
}

impl RetryOptions {
    /// Creates options with this number of retries and this longest pause.
    pub fn new(max_retries: u32, max_delay: Duration) -> Self {
        Self { max_retries, max_delay }
    }
}

impl Default for RetryOptions {
    fn default() -> Self {
        Self { max_retries: 0, max_delay: Duration::from_secs(60) }
    }
}

/// The names under which requests are made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Identity {
    /// The `User-Agent` header. `None` sends the name, version and platform of this library.
    pub user_agent: Option<String>,
    /// The application, for providers that attribute requests.
    pub attribution: Option<Attribution>,
}

/// The application on whose behalf requests are made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attribution {
    /// Name of the application.
    pub name: String,
    /// Home page of the application.
    pub url: Option<String>,
    /// Categories of the application, in the provider's vocabulary.
    pub categories: Vec<String>,
}

impl Attribution {
    /// Creates an attribution to the application with this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

impl StreamOptions {
    /// Sets the API key.
    #[must_use]
    pub fn with_api_key(mut self, key: impl Into<SecretString>) -> Self {
        self.api_key = Some(key.into());
        self
    }

    /// Returns the requested thinking level, clamped to the levels of `model`; `None` if thinking
    /// is off.
    pub fn thinking_for(&self, model: &Model) -> Option<ThinkingLevel> {
        let requested = self.reasoning?;
        if requested == ThinkingLevel::Off {
            return None;
        }
        match model.clamp_thinking(requested) {
            ThinkingLevel::Off => None,
            level => Some(level),
        }
    }
}
