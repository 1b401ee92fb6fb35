//! What the agent loop promises, at the seam where its users see it.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod arguments;
mod examples;
mod grammar;
mod limits;
mod notation;
mod order;
mod queued;
mod scenarios;
mod stage;
