//! One streaming API over every LLM provider.

pub mod catalog;
#[cfg(feature = "http")]
mod client;
#[cfg(feature = "http")]
mod credentials;
pub mod estimate;
pub mod faux;
#[cfg(feature = "http")]
mod http;
mod overflow;
pub mod providers;
pub mod retry;
pub mod sse;
pub mod wire;

#[cfg(feature = "http")]
pub use client::{Client, ModelError, ProviderConfig};
pub use overflow::{is_context_overflow, is_recoverable_length};
pub use pi_protocol::*;
pub use retry::is_retryable;
