//! Tests of the public behavior of the registry of models.

#![allow(clippy::unwrap_used)]

mod local_servers;
mod logins;
mod model_listing;
mod model_registry;
mod models_file;
mod socket;
