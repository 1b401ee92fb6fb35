//! What the coding agent does, seen from outside.

#![allow(clippy::unwrap_used)]

mod rpc;
mod session;
mod stage;
mod config;
