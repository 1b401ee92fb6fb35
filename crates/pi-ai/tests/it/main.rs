//! Tests of the public API of pi-ai.

#![allow(clippy::unwrap_used)]

#[cfg(feature = "http")]
mod abort;
mod answers;
#[cfg(feature = "http")]
mod bedrock;
#[cfg(feature = "http")]
mod client;
#[cfg(feature = "cloud")]
mod cloud;
mod dialects;
mod failures;
mod functions;
mod handover;
#[cfg(feature = "http")]
mod hooks;
#[cfg(feature = "http")]
mod hostile;
mod output_schema;
#[cfg(feature = "http")]
mod prefix;
#[cfg(feature = "http")]
mod proxy;
mod requests;
#[cfg(feature = "http")]
#[path = "../../../pi-web/tests/it/server.rs"]
mod server;
#[cfg(feature = "http")]
mod socket_server;
mod traces;
#[cfg(feature = "http")]
mod websocket;
