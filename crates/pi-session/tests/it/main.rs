//! How sessions behave, seen from outside.

#![allow(clippy::unwrap_used)]

mod compaction;
mod compat;
mod crash;
mod index;
mod index_model;
mod listing;
mod live;
mod log;
mod observe;
mod peer;
mod script;
mod verified;
mod written;
