//! Models behind a server of yours, so that a key never has to reach the client.
//!
//! The client sends model, conversation and options; the server answers with events that carry
//! deltas only, and the client builds the message up again. [`Proxy`] is the client, a
//! [`Provider`](crate::Provider) like any other. The server side is two functions, for whatever
//! HTTP framework you have: [`read_request`] and [`response_body`].
//!
#![cfg_attr(feature = "http", doc = "```no_run")]
#![cfg_attr(not(feature = "http"), doc = "```ignore")]
//! # async fn handle(client: &pi_ai::Client, body: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
//! use pi_ai::{CancelToken, Provider};
//!
//! let request = pi_ai::proxy::read_request(body)?;           // POST /api/stream
//! let stream = Provider::stream(client, request, CancelToken::new());
//! let body = pi_ai::proxy::response_body(stream);            // a Stream of text/event-stream lines
//! # let _ = body; Ok(()) }
//! ```

#[cfg(feature = "http")]
mod client;
mod decode;
mod event;
mod request;
mod server;

#[cfg(feature = "http")]
pub use client::Proxy;
pub use decode::ProxyDecoder;
pub use event::ProxyEvent;
pub use request::{BadProxyRequest, read_request, write_request};
pub use server::response_body;
