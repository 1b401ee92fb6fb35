//! Models: which there are, which can be used, and which one is meant.
//!
//! [`Models`] is what is known of models: the built-in catalog, changed and extended by the user's
//! `models.json`, and the local servers that were found. [`ModelRegistry`] adds credentials to it
//! and makes a client that asks for them when a request is made. Everything that picks a model
//! from a text ([`resolve()`], [`select_model()`], [`model_scope()`], [`initial_model()`]) is a pure function over the
//! names of models: no record of the catalog is decoded before it is the one that is wanted.

mod credentials;
mod definitions;
mod file;
mod initial;
mod jsonc;
mod listing;
pub mod local;
mod patch;
mod registry;
mod resolve;
mod scope;
mod select;
mod violations;

pub use credentials::{CredentialError, CredentialSource};
pub use definitions::Models;
pub use file::{ModelOverride, ModelRecord, ModelsFile, ProviderRecord};
pub use initial::{
    DEFAULT_MODELS, Direction, InitialModel, ModelPreferences, cycle, default_model, initial_model,
    restore_failure, thinking_level,
};
pub use listing::{ModelRow, model_rows, model_table};
pub use registry::{ModelRegistry, StoredCredentials};
pub use resolve::{ModelName, ModelReference, Resolution, Suffix, Target, resolve};
pub use scope::{ModelScope, ScopeWarning, ScopeWarningKind, ScopedName, model_scope};
pub use select::{ModelRequest, ModelSelection, SelectModelError, SelectedModel, select_model};
