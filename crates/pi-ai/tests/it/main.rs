//! Tests of the public API of pi-ai.

#![allow(clippy::unwrap_used)]

#[cfg(feature = "http")]
mod abort;
mod answers;
#[cfg(feature = "http")]
mod bedrock;
#[cfg(feature = "http")]
mod client;
#[cfg(feature = "http")]
mod cloud;
mod dialects;
mod failures;
mod functions;
mod handover;
#[cfg(feature = "http")]
mod hooks;
#[cfg(feature = "http")]
mod hostile;
#[cfg(feature = "http")]
mod oauth;
mod output_schema;
#[cfg(feature = "http")]
mod prefix;
#[cfg(feature = "http")]
mod proxy;
mod requests;
#[cfg(feature = "http")]
mod server;
#[cfg(feature = "http")]
mod socket_server;
mod traces;
#[cfg(feature = "http")]
mod websocket;
