//! Logins by OAuth 2: one module for every provider, driven by data.
//!
//! A [`Service`] describes the endpoints and peculiarities of an authorization server; [`login`]
//! obtains [`Tokens`] from it, with an [`Interaction`] as the only way to the user, and [`refresh`]
//! renews them. [`builtin`] has the services of the providers; users add services and change
//! built-in ones in their settings. The same code signs in to model providers and to MCP servers.
//!
//! This module must not store anything, open a browser, read the environment or write to a
//! terminal: the caller does.

pub mod builtin;
mod callback;
mod challenge;
mod chatgpt;
mod client;
mod code;
mod codex;
mod copilot;
mod device;
mod discovery;
mod endpoint;
mod error;
mod flow;
mod gateway;
mod id_token;
mod interaction;
mod login;
mod meta;
mod method;
mod openrouter;
mod pasted;
mod random;
mod refresh;
mod response;
mod service;
mod text;
mod tokens;
mod validate;

pub use challenge::Challenge;
pub use discovery::{Metadata, ResourceMetadata, discover, discover_at, discover_resource};
pub use error::{OauthError, RefreshError, ServiceError};
pub use interaction::{Cancelled, Interaction, LoginEvent, Prompt, PromptKind};
pub use login::{LoginOptions, base_url, login};
pub use method::LoginMethod;
pub use refresh::{refresh, revoke};
pub use service::{ClientSecret, Closed, Dialect, Redirect, Service, TokenEncoding, TokenUse};
pub use tokens::Tokens;
