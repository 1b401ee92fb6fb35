//! The binary, run as a user runs it.

#![allow(clippy::unwrap_used)]

mod cli;
mod scenarios;
