//! The agent loop of pi: a model, its tools, and the conversation between them.

pub mod arguments;
