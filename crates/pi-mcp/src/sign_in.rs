//! Signing in to an HTTP server by OAuth 2.1, as the specification asks for it.
//!
//! [`sign_in`] finds the authorization server of an MCP server (RFC 9728, RFC 8414, OpenID), makes
//! this program known there and obtains [`Credentials`] with a proof key and a resource indicator.
//! [`refresh`] renews them, [`revoke`] ends them. The flow itself is that of [`pi_web::oauth`].
//!
//! Nothing is stored here. Credentials belong to the issuer that gave them: if a server changes its
//! authorization server, the client is registered again, and no secret of the one reaches the other.

mod credentials;
mod discover;
mod flow;
mod scopes;
mod settings;

pub use credentials::{Client, Credentials};
pub use discover::probe;
pub use flow::{SignIn, refresh, revoke, sign_in};
pub use settings::{Registration, Settings};
