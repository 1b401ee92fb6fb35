//! What may run.
//!
//! Two halves that do not trust each other: a policy that decides before anything runs, from the
//! text of a command, and a confinement that holds when the policy was wrong, by the operating
//! system. Neither asks anybody: whoever uses this crate does that with what it answers.
//!
//! # What this crate must not know
//!
//! Agents, sessions, models, terminals, and any async runtime.
//!
//! # Where to start reading
//!
//! [`Decision`] is what everything comes down to. [`shell::analyze`] finds what a script would run,
//! [`policy::Policy::check`] decides about it, and [`confine`] is the half that holds. [`secrets`] keeps credentials out of what
//! is shown and stored, whoever was allowed to read them.

pub mod confine;
mod decision;
mod names;
pub mod policy;
mod programs;
pub mod protected;
pub mod secrets;
pub mod shell;

pub use decision::Decision;
