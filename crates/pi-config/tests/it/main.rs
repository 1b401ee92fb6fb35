//! Tests of the public behavior of the configuration.

#![allow(clippy::disallowed_methods, reason = "tests start programs directly")]
#![allow(clippy::unwrap_used)]

mod config;
mod env;
mod expansion;
mod project;
mod resource_files;
mod resources;
mod system_prompt;
