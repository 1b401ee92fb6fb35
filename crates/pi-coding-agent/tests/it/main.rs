//! Tests of the public behavior of the coding agent.

#![allow(clippy::unwrap_used)]

mod budget;
mod cache_warming;
mod env;
mod examples;
mod extensions;
mod forced_prompt;
mod guard;
mod local_servers;
mod logins;
#[cfg(unix)]
mod mcp;
mod mcp_files;
mod model_listing;
mod model_registry;
mod models_file;
mod network;
mod output;
mod packages;
mod registry;
mod restored_tools;
mod rpc;
mod rpc_document;
mod runtime;
mod session;
mod session_start;
mod socket;
mod summaries;
mod test_session;
mod turn;
