//! One streaming API over every LLM provider.

pub mod estimate;
pub mod sse;
pub mod wire;

pub use pi_protocol::*;
