//! What the coding agent does, seen from outside.

#![allow(clippy::unwrap_used)]

mod rpc;
mod session;
mod stage;
mod config;
mod expansion;
mod resource_files;
mod resources;
mod scratch;
mod system_prompt;
mod local_servers;
mod model_listing;
mod model_registry;
mod model_resolution;
mod models_file;
mod socket;
