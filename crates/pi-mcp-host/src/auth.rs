//! Sign-ins to servers: tokens in `mcp-auth.json`, renewed for all processes.
//!
//! A connection never starts a sign-in by itself: it sends the stored token, renews it when it ends
//! or is refused, and otherwise fails with a state that the user can act on. [`McpAuth::sign_in`]
//! is what the user starts.

mod file;
mod provider;
mod record;
mod server;
mod session;

pub use session::{McpAuth, SignInError, SignInOptions, SignedOut};
