//! How sessions behave, seen from outside.

#![allow(clippy::unwrap_used)]

mod compat;
mod context;
mod crash;
mod live;
mod log;
mod migrate;
mod observe;
mod peer;
mod script;
mod tree;
mod written;
