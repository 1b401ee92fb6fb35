//! Integration tests: sessions with a scripted model, and their clients.

#![allow(clippy::unwrap_used)]

mod clients;
mod env;
mod feed;
mod pool;
mod rewind;
mod ui_hub;
