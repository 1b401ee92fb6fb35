//! One streaming API over LLM providers.
//!
#![cfg_attr(feature = "http", doc = include_str!("../README.md"))]
//!
//! # Tools
//!
//! Declare tools in the context, run what the model calls, and continue with the results:
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! use pi_ai::faux::{Faux, Reply};
//! use pi_ai::{CancelToken, Context, Message, Tool, UserBlock, complete};
//! use serde_json::json;
//!
//! let model = Faux::new(); // a scripted model: any `Provider` works the same
//! model.push(Reply::new().tool_call("add", &json!({"a": 2, "b": 3})));
//! model.push(Reply::new().text("It is 5."));
//!
//! let schema = json!({
//!     "type": "object",
//!     "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
//!     "required": ["a", "b"],
//! });
//! let mut context = Context::new().user("2 + 3?").tool(Tool::new("add", "Adds.", schema));
//! let answer = complete(&model, model.request(context.clone()), CancelToken::new()).await;
//! let call = answer.tool_calls().next().unwrap().clone();
//! let sum = call.arguments["a"].as_f64().unwrap() + call.arguments["b"].as_f64().unwrap();
//!
//! context = context
//!     .message(Message::Assistant(answer))
//!     .message(Message::tool_result(&call, vec![UserBlock::text(sum.to_string())], false));
//! let answer = complete(&model, model.request(context), CancelToken::new()).await;
//! assert_eq!(answer.text(), "It is 5.");
//! # }
//! ```
//!
//! # Where to find what
//!
//! - **Thinking**: [`StreamOptions::reasoning`]; levels are fitted to what the model offers.
//! - **Another model for the same history**: [`wire::transform_messages`] adapts signatures, call
//!   ids, images and unanswered calls; every request does so by itself.
//! - **Cancellation**: [`AssistantStream::cancel`] and [`AssistantStream::cancel_token`] close the
//!   connection at once and end the stream as `Aborted`, with what had arrived.
//! - **Prompt caching, retries, time-outs, hooks**: [`StreamOptions`].
//! - **Custom providers and models**: `Client::with_provider`.
//! - **Classification of failures**: [`ProviderFailure`], [`is_context_overflow`],
//!   [`is_retryable`], [`retry::retry_turn`].
//! - **Tests without a network**: [`faux`].
//!
//! # Vocabulary
//!
//! The types of messages, events and options are those of [`pi_protocol`], which agents and
//! sessions share. The ones that a user of this crate needs are re-exported here. Programs that
//! also handle session entries, tool effects or partial JSON depend on `pi-protocol` directly.
//!
//! # Where to start reading
//!
//! [`wire`] for the formats, `client.rs` for the way of a request, `http.rs` for the connection,
//! [`oauth`] for logins, `cloud.rs` for the credentials of clouds.
//!
//! This crate must not know terminals, agents or sessions. It reads files only as a source of cloud
//! credentials, and writes only a renewed login of the AWS tools back. It keeps no state between
//! requests but connections and the credentials of clouds.

pub mod aws;
pub mod catalog;
#[cfg(feature = "http")]
mod client;
#[cfg(feature = "http")]
pub mod cloud;
#[cfg(feature = "http")]
mod credentials;
#[cfg(feature = "http")]
mod download;
pub mod estimate;
mod failure;
pub mod faux;
mod hooks;
#[cfg(feature = "http")]
mod http;
mod lines;
#[cfg(feature = "http")]
pub mod oauth;
mod overflow;
pub mod providers;
#[cfg(feature = "http")]
pub mod rate_limits;
pub mod retry;
pub mod sse;
mod variables;
pub mod wire;

#[cfg(feature = "http")]
pub use client::{
    Authorization, AuthorizationRequest, Authorize, AuthorizeError, Client, FailedResponse,
    ModelError, PendingAuthorization, ProviderConfig,
};
#[cfg(feature = "http")]
pub use download::{Document, DownloadError, Downloader};
pub use failure::{FailureKind, ProviderFailure};
pub use hooks::HookPanicked;
#[cfg(feature = "http")]
pub use http::web;
pub use overflow::{is_context_overflow, is_recoverable_length};
pub use retry::is_retryable;
pub use variables::Variables;
pub use wire::KeyScheme;

// Requests.
#[doc(inline)]
pub use pi_protocol::{
    Attribution, CacheRetention, CancelToken, ConstrainedSampling, Context, EnvOverrides,
    GrammarVariants, HeaderChanges, HookFuture, HttpHeader, HttpResponseInfo, Identity,
    OutputSchema, Provider, RateLimit, RateLimits, Request, RequestHooks, RetryOptions,
    StreamOptions, StrictMode, ThinkingBudgets, ThinkingLevel, Timeouts, Tool, ToolChoice,
    Transport, UsageWindow, complete,
};
// Messages.
#[doc(inline)]
pub use pi_protocol::{
    AssistantBlock, AssistantMessage, Diagnostic, DiagnosticError, Extra, History, ImageContent,
    Message, MessageContent, RemovedTool, StopReason, SystemMessage, TextContent, ThinkingContent,
    ToolCall, ToolResultMessage, UserBlock, UserContent, UserMessage,
};
// Answers, and the parts from which a custom provider builds them.
#[doc(inline)]
pub use pi_protocol::{AssistantEvent, AssistantStream, MessageBuilder, Source};
// Models and prices.
#[doc(inline)]
pub use pi_protocol::{
    Cost, CostTier, ImageLimits, ImageResize, InputKind, InputLimits, Model, ModelCost,
    PromptCache, Usage,
};
