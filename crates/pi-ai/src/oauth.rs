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
mod error;
mod interaction;
mod service;
mod tokens;

#[cfg(feature = "http")]
mod login;
#[cfg(feature = "http")]
mod refresh;

pub use error::{OauthError, RefreshError, ServiceError};
pub use interaction::{Cancelled, Interaction, LoginEvent, Prompt, PromptKind};
#[cfg(feature = "http")]
pub use login::{LoginMethod, LoginOptions, login};
#[cfg(feature = "http")]
pub use refresh::{refresh, revoke};
pub use service::{ClientSecret, Dialect, Redirect, Service, TokenEncoding, TokenUse};
pub use tokens::Tokens;
