//! HTTP for every crate of pi.
//!
#![doc = include_str!("../README.md")]
//!
//! # Features
//!
//! - `client`: [`WebClient`] for requests, `Downloader` for files.
//! - `server`: a listener with limits, gate, routes, bodies and server-sent events.
//! - `tls`: TLS for the server, with a given certificate.
//! - `oauth`: logins. `cloud`: credentials of the machine. `sigv4`: signatures of AWS.
//! - `websocket`: frames and handshakes.
//!
//! Without features the crate has data and parsers ([`sse`], [`Variables`], [`Authorization`]), and
//! builds neither TLS nor a runtime.
//!
//! # Where to start reading
//!
//! `client.rs` for requests, `server.rs` for servers, `oauth.rs` for logins, `cloud.rs` for the credentials of clouds.
//!
//! This crate must not know models, wire formats, agents, sessions or terminals. It reads no
//! environment: callers pass lookups. It reads files only as a source of cloud credentials, and
//! writes only a renewed login of the AWS tools back.

mod authorization;
pub mod aws;
#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "cloud")]
#[cfg_attr(
    not(feature = "cloud-sources"),
    allow(dead_code, reason = "the vocabulary of sources has no user without them")
)]
pub mod cloud;
#[cfg(any(feature = "client", feature = "websocket"))]
pub mod connection;
#[cfg(feature = "client")]
mod download;
mod lines;
#[cfg(feature = "oauth")]
pub mod oauth;
#[cfg(feature = "client")]
pub mod rate_limits;
#[cfg(feature = "server")]
mod secret;
#[cfg(feature = "server")]
pub mod server;
pub mod sse;
mod user_agent;
mod variables;
#[cfg(feature = "websocket")]
pub mod websocket;

pub use authorization::{Authorization, KeyScheme};
#[cfg(feature = "client")]
pub use client::{WebBody, WebClient, WebError, WebRequest, WebResponse};
#[cfg(feature = "client")]
pub use download::{Document, DownloadError, Downloader};
/// Headers, methods and status codes, as the functions of this crate take them.
#[cfg(any(feature = "client", feature = "server"))]
pub use http;
pub use user_agent::user_agent;
pub use variables::Variables;
