//! One streaming API over every LLM provider.
//!
//! # Stream a model
//!
#![cfg_attr(feature = "http", doc = "```no_run")]
#![cfg_attr(not(feature = "http"), doc = "```ignore")]
//! use pi_ai::{AssistantEvent, Client, Context, StreamOptions};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::from_env(); // keys from ANTHROPIC_API_KEY, OPENAI_API_KEY, …
//! let model = client.model("anthropic", "claude-sonnet-4-5")?;
//! let mut stream = client.stream(&model, Context::new().user("Hello!"), StreamOptions::default());
//! while let Some(event) = stream.next().await {
//!     if let AssistantEvent::TextDelta { delta, .. } = event {
//!         print!("{delta}");
//!     }
//! }
//! # Ok(()) }
//! ```
//!
//! Events carry what is new; the message they build up is [`stream.message()`], by reference, at
//! any time. The stream ends in exactly one terminal event. **Failures arrive there too**, from a
//! missing key to a torn connection, with what was gathered so far: look at
//! [`AssistantMessage::stop_reason`] and `error_message`. Nothing returns an `Err` beside it.
//!
//! To wait for the whole answer: `client.complete(&model, context, options).await`.
//!
//! [`stream.message()`]: AssistantStream::message
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
//! # Other things it does
//!
//! - **Thinking**: [`StreamOptions::reasoning`]; levels are fitted to what the model offers.
//! - **Any history on any model**: continue a conversation on another provider; signatures, call
//!   ids, images and unanswered calls are handled ([`wire::transform_messages`]).
//! - **Abort**: `Provider::stream(&client, request, cancel)` takes a [`CancelToken`]; cancelling it closes the connection at
//!   once and ends the stream as `Aborted`, keeping what came.
//! - **Prompt caching, retries, time-outs, hooks**: [`StreamOptions`].
//! - **Your own providers and models**: [`Client::with_provider`].
//! - **What failed?** [`is_context_overflow`], [`is_retryable`], [`retry::retry_turn`].
//! - **No network**: [`faux`], the scripted model.
//!
//! # What this crate must not know
//!
//! Files, terminals, agents, sessions. It keeps no state between requests but a connection pool.
//! Without the default feature `http` it also knows no network: the wire formats, the catalog and
//! the scripted model remain, and no TLS is built.
//!
//! # Where to start reading
//!
//! [`wire`] for how providers are spoken to, `client.rs` for how a request finds its way,
//! `http.rs` for what happens on the connection.

pub mod catalog;
#[cfg(feature = "http")]
mod client;
#[cfg(feature = "http")]
mod credentials;
pub mod estimate;
pub mod faux;
mod hooks;
#[cfg(feature = "http")]
mod http;
mod lines;
mod overflow;
pub mod providers;
pub mod retry;
pub mod sse;
pub mod wire;

#[cfg(feature = "http")]
pub use client::{
    Authorization, Authorize, Client, ModelError, PendingAuthorization, ProviderConfig,
};
pub use hooks::HookPanicked;
pub use overflow::{is_context_overflow, is_recoverable_length};
#[doc(inline)]
pub use pi_protocol::*;
pub use retry::is_retryable;
