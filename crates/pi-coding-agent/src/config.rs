//! The files of the user: settings, credentials, trust.
//!
//! Shared with other programs that read and write them at the same time, so every write takes the
//! lock that they take, starts from a fresh read, and keeps what it does not know.

mod auth;
mod value;

pub use auth::StoredCredential;
pub use value::resolve_value;
