//! What the tools do, seen from outside.

#![allow(clippy::unwrap_used)]

mod observed;
mod read;
mod search;
