//! Sessions of the coding agent over HTTP and WebSocket, for browsers and programs.
//!
#![doc = include_str!("../README.md")]
//!
//! # What this crate must not know
//!
//! Terminals, arguments, standard streams and the environment of the process: the program passes in
//! what the server needs, and prints what the user should know.
//!
//! # Where to start reading
//!
//! [`Server`] passes a request through `entrance` and looks it up in the table of `routes`.
//! [`ServeState`] is what all handlers share.

mod acp;
pub mod announce;
pub mod api;
mod attached;
pub mod audit;
mod elsewhere;
pub mod entrance;
mod error;
mod items;
mod lists;
mod mcp;
mod metrics;
mod options;
pub mod page;
mod routes;
mod server;
mod socket;
mod state;
pub mod summary;
pub mod view;

pub use options::{Advice, Refused, ServeOptions};
pub use pi_web::server::{Tls, TlsError};
pub use routes::openapi;
pub use server::{ServeError, Server};
pub use state::ServeState;
pub use url::Url;
