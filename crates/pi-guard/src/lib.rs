//! Decides what a program may do: policy, sandbox and redaction of secrets.
//!
#![doc = include_str!("../README.md")]
//!
//! # What this crate must not know
//!
//! Agents, sessions, models, terminals and async runtimes.
//!
//! # Where to start reading
//!
//! [`shell::analyze`] reduces a script to commands, [`policy::Policy::check`] decides about them,
//! and every result is a [`Decision`]. [`confine`] starts commands in a sandbox of the operating
//! system, [`secrets`] redacts credentials, and [`protected`] lists the paths that all of them
//! protect.

pub mod confine;
mod decision;
mod names;
pub mod policy;
mod programs;
pub mod protected;
pub mod secrets;
pub mod shell;
mod word;

pub use decision::Decision;
