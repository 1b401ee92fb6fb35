//! Integration tests of the public API.

#![allow(clippy::disallowed_methods, reason = "tests start programs directly")]
#![allow(clippy::unwrap_used)]

mod atif;
mod compaction;
mod compat;
mod context;
mod crash;
mod effects;
mod export;
mod fragment;
mod index;
mod index_model;
mod listing;
mod live;
mod log;
mod migrate;
mod observe;
mod page;
mod peer;
mod script;
mod tree;
mod verified;
mod webdriver;
mod written;
