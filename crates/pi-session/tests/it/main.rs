//! How sessions behave, seen from outside.

#![allow(clippy::unwrap_used)]

mod compaction;
mod log;
