//! Integration tests: sessions with a scripted model, and their clients.

#![allow(clippy::unwrap_used)]

mod env;
mod feed;
mod pool;
mod ui_hub;
