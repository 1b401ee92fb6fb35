//! Tests of the agent loop through its public API.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod budget;
mod decisions;
mod env;
mod examples;
mod grammar;
mod limits;
mod notation;
mod order;
mod queued;
mod scenarios;
mod suspension;
