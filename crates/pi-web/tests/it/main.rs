//! Tests of the public API of pi-web.

#![allow(clippy::unwrap_used)]

mod cloud;
mod oauth;
mod serve;
#[allow(dead_code)] // Shared with the tests of pi-ai, which use all of it.
mod server;
mod tls;
