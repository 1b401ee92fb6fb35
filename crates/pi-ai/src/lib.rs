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
//! [`wire`] for the formats, `client.rs` for the way of a request, `http.rs` for the exchange.
//! Connections, logins and the credentials of clouds are in [`pi_web`].
//!
//! This crate must not know terminals, agents, sessions or files. It keeps no state between
//! requests but connections and the credentials of clouds.

pub mod catalog;
#[cfg(feature = "http")]
mod client;
pub mod estimate;
mod failure;
pub mod faux;
mod hooks;
#[cfg(feature = "http")]
mod http;
mod overflow;
pub mod providers;
pub mod retry;
pub mod wire;

#[cfg(feature = "http")]
pub use client::{
    AuthorizationRequest, Authorize, AuthorizeError, Client, FailedResponse, ModelError,
    PendingAuthorization, ProviderConfig,
};
pub use failure::{FailureKind, ProviderFailure};
pub use hooks::HookPanicked;
pub use overflow::{is_context_overflow, is_recoverable_length};
pub use retry::is_retryable;

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
