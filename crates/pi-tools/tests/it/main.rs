//! What the tools do, seen from outside.

#![allow(clippy::unwrap_used)]

mod bash;
mod processes;
mod read;
