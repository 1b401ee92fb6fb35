//! Tests of the public behavior of the coding agent.

#![allow(clippy::unwrap_used)]

mod budget;
mod cache_warming;
mod config;
mod env;
mod examples;
mod expansion;
mod extensions;
mod forced_prompt;
mod guard;
mod local_servers;
mod logins;
#[cfg(unix)]
mod mcp;
mod model_listing;
mod model_registry;
mod models_file;
mod network;
mod packages;
mod registry;
mod resource_files;
mod resources;
mod restored_tools;
mod rpc;
mod rpc_document;
mod runtime;
mod session;
mod session_start;
mod socket;
mod summaries;
mod system_prompt;
mod test_session;
