//! What the guard decides and holds, seen from outside.

#![allow(clippy::unwrap_used)]

mod evasion;
mod rule_files;
