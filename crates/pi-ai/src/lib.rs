//! One streaming API over every LLM provider.

pub mod catalog;
pub mod estimate;
pub mod providers;
pub mod sse;
pub mod wire;

pub use pi_protocol::*;
