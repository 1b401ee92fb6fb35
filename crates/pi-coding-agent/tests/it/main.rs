//! What the coding agent does, seen from outside.

#![allow(clippy::unwrap_used)]

mod config;
