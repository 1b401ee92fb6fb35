//! What the tools do, seen from outside.

#![allow(clippy::unwrap_used)]

mod call;
#[cfg(unix)]
mod observed;
mod read;
