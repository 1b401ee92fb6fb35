//! How sessions behave, seen from outside.

#![allow(clippy::unwrap_used)]

mod index;
mod index_model;
mod listing;
mod log;
