//! Tests of the public behavior of the coding agent.

#![allow(clippy::unwrap_used)]

mod budget;
mod cache_warming;
mod env;
mod examples;
mod extensions;
mod forced_prompt;
mod guard;
mod network;
mod output;
mod packages;
mod registry;
mod restored_tools;
mod runtime;
mod session;
mod session_start;
#[allow(dead_code)] // Shared with the tests of pi-models, which use all of it.
#[path = "../../../pi-models/tests/it/socket.rs"]
mod socket;
mod summaries;
mod test_session;
mod turn;
