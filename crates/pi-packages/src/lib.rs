//! The package manager of the coding agent pi.
//!
#![doc = include_str!("../README.md")]
//!
//! # What this crate must not know
//!
//! Terminals, arguments and standard streams: the program passes the environment in and prints what
//! is reported. JavaScript: packages are files here.

mod entries;
mod error;
mod git;
mod lock;
mod manager;
mod npm;
mod process;
pub mod release;

pub use error::{ArchiveError, PackageError};
pub use manager::{Installed, NotInstalled, PackageEvent, PackageManager, Reporter, Updated};
pub use npm::{Changed, Range, RegistryConfig, Version, installed_version};
