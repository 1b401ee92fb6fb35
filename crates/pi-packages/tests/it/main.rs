//! Tests of the package manager, with a registry server of their own and real git repositories.

#![allow(clippy::disallowed_methods, reason = "tests start programs directly")]
#![allow(clippy::unwrap_used)]

mod archives;
mod env;
mod git;
mod hostile;
mod install;
mod network;
mod registry;
mod resolution;
mod settings;
