//! Integration tests: the protocol over real pipes, and its documentation.

#![allow(clippy::unwrap_used)]

mod document;
#[allow(dead_code)] // The tests of the agent use all of it.
#[path = "../../../pi-coding-agent/tests/it/env.rs"]
mod env;
mod rpc;
