//! What the guard decides and holds, seen from outside.

#![allow(clippy::unwrap_used)]

#[cfg(target_os = "linux")]
mod bed;
#[cfg(target_os = "linux")]
mod escapes;
