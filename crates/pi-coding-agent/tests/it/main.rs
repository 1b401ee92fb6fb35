//! What the coding agent does, seen from outside.

#![allow(clippy::unwrap_used)]

mod local_servers;
mod model_listing;
mod model_registry;
mod model_resolution;
mod models_file;
mod socket;
