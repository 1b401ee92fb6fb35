//! Lets a program judge every program that another process starts, and see the files that it uses.
//!
#![doc = include_str!("../README.md")]
//!
//! # What this crate must not know
//!
//! Rules, sandboxes and what is done with a refusal. It is the interface of the kernel in a safe
//! form, because the rest of the workspace forbids `unsafe`.
#![cfg(target_os = "linux")]

mod filter;
mod listener;
mod memory;

pub use filter::{Reported, install, probe};
pub use listener::{Call, Event, FileUse, Listener};
pub use memory::read_memory;

#[cfg(test)]
mod tests;
