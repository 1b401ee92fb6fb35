//! Files: locks, replacement, private files and directories, errors with a path.
//!
#![doc = include_str!("../README.md")]
//!
//! # What this crate must not know
//!
//! Formats, names and places of files: callers pass paths.

mod absent;
mod error;
mod lock;
mod new_file;
mod private;
mod program;
mod regular;
mod replace;

pub use absent::if_exists;
pub use error::FileError;
pub use lock::{try_lock, try_lock_where_supported};
pub use new_file::{Access, NewFile, write};
pub use private::{create_private, private_directory, private_file};
pub use program::find_program;
pub use regular::{NotRegular, open_regular, open_regular_no_follow};
pub use replace::{
    OtherNames, cannot_rename, keep_attributes, persist, put, replace, replacement, target,
};
