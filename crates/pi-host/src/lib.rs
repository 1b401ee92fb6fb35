//! Many sessions by id, and the operations on the sessions and credentials of a user, for every
//! front end and every server.
//!
#![doc = include_str!("../README.md")]
//!
//! # What this crate must not know
//!
//! Terminals, arguments, standard streams and transports: callers pass the environment in, show the
//! results, and turn the items of a feed into frames.
//!
//! # Where to start reading
//!
//! [`Host`] holds the open sessions, [`Hosted`] is one of them: its runtime, its clients
//! ([`ui_hub`]) and its events ([`feed`]). [`Runs`] are prompts in sessions of their own, for servers
//! whose callers send tasks. [`sessions::SessionStore`] names and finds the logs of a user.

pub mod browser;
pub mod ceiling;
pub mod credentials;
mod directories;
pub mod export;
pub mod feed;
mod hosted;
mod open;
mod pool;
pub mod provider_errors;
pub mod rate_limits;
mod runs;
pub mod sessions;
mod takeover;
pub mod ui_hub;
pub mod undo;

pub use directories::{Directories, DirectoryError};
pub use hosted::{ANSWER_ENTRY, Hosted, Notices};
pub use open::{OpenError, OpenPlan, OpenRequest, Opened, Opener};
pub use pool::{Entered, Host, HostOptions};
pub use runs::{RunPlace, RunStatus, Runs};
