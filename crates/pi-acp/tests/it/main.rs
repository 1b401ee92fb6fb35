//! Clients of both versions over in-memory pipes, with a scripted model. Every message of the agent
//! is checked against the published schema.

#![allow(clippy::disallowed_methods, reason = "tests start programs directly")]
#![allow(clippy::unwrap_used)]

mod client;
mod closing;
mod commands;
mod conversations;
mod draft;
mod editor;
mod hostile;
mod permissions;
mod profiles;
mod schema;
mod several;
