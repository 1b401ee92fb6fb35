//! The files of the user: settings, credentials, trust.
//!
//! Shared with other programs that read and write them at the same time, so every write takes the
//! lock that they take, starts from a fresh read, and keeps what it does not know.

mod auth;
mod command;
mod directories;
mod error;
mod file;
mod legacy;
mod lock;
mod schemas;
pub mod settings;
mod trust;
mod value;

pub use auth::{AuthEdit, AuthStore, StoredCredential};
pub use command::{Commands, Runs};
pub use directories::{SessionDirectory, agent_directory, resolve_session_directory};
pub use error::ConfigError;
pub use legacy::{Migrated, migrate_credentials};
pub(crate) use lock::with_lock;
pub use schemas::schemas;
pub use settings::{Changes, Settings, SettingsScope, SettingsStore};
pub use trust::{Trust, TrustEntry, TrustQuestion, TrustStore, needs_trust};
pub use value::resolve_value;
