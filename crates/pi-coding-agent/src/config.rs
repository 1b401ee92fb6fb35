//! The files of the user: settings, credentials, trust.
//!
//! Other programs read and write these files at the same time. Every write takes the lock that
//! they take, starts from a fresh read, and keeps unknown content.

mod auth;
mod directories;
mod error;
pub(crate) mod file;
pub(crate) mod lock;
mod models_store;
mod resolver;
mod schemas;
pub mod settings;
mod trust;
mod value;

pub use auth::{AuthEdit, AuthStore, StoredCredential};
pub use directories::{SessionDirectory, agent_directory, resolve_session_directory};
pub use error::ConfigError;
pub(crate) use lock::with_lock;
pub(crate) use models_store::ModelsStore;
pub use resolver::{CommandRuns, ValueResolver};
pub use schemas::{FileSchema, schemas};
pub use settings::{Settings, SettingsChanges, SettingsScope, SettingsStore};
pub use trust::{Trust, TrustEntry, TrustQuestion, TrustStore, files_that_need_trust, needs_trust};
