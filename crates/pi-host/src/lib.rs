//! Operations on the sessions and credentials of a user, for every front end.
//!
#![doc = include_str!("../README.md")]
//!
//! # What this crate must not know
//!
//! Terminals, arguments and standard streams: callers pass the environment in and show the results.
//! Start reading at [`sessions::SessionStore`], which names and finds the logs of a user.

pub mod browser;
pub mod credentials;
pub mod export;
pub mod provider_errors;
pub mod rate_limits;
pub mod sessions;
pub mod text;
pub mod undo;
