//! Logins by OAuth 2: one module for every provider, driven by data.
//!
//! A [`Service`] describes the endpoints and peculiarities of an authorization server; `login`
//! obtains [`Tokens`] from it, with an [`Interaction`] as the only way to the user. The same code
//! signs in to model providers and to MCP servers.
//!
//! This module must not store anything, open a browser or write to a terminal: the caller does.

mod interaction;
mod service;
mod tokens;

pub use interaction::{Cancelled, Interaction, LoginEvent, Prompt, PromptKind};
pub use service::{Redirect, Service, TokenEncoding, TokenUse};
pub use tokens::Tokens;
