//! Tests of the public behavior of MCP servers in sessions.

#![allow(clippy::unwrap_used)]

#[path = "../../../pi-coding-agent/tests/it/env.rs"]
#[allow(dead_code)] // Shared with the tests of pi-coding-agent, which use all of it.
mod env;
#[cfg(unix)]
mod mcp;
#[path = "../../../pi-models/tests/it/socket.rs"]
#[allow(dead_code)] // Shared with the tests of pi-models, which use all of it.
mod socket;
