//! Models: which there are, which can be used, and which one is meant.
//!
//! [`Models`] is what is known of models: the built-in catalog, changed and extended by the user's
//! `models.json`, and the local servers that were found. [`ModelRegistry`] adds credentials to it
//! and makes a client that asks for them when a request is made. Everything that picks a model
//! from a text ([`resolve()`], [`choose()`], [`scope()`], [`initial()`]) is a pure function over the
//! names of models: no record of the catalog is decoded before it is the one that is wanted.

mod choose;
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
mod violations;

pub use choose::{Choice, ChoiceError, Chosen, Wish, choose};
pub use credentials::{CredentialError, CredentialSource};
pub use definitions::Models;
pub use file::{ModelOverride, ModelRecord, ModelsFile, ProviderRecord};
pub use initial::{
    DEFAULT_MODELS, Direction, Initial, Preferences, cycle, default_model, initial,
    restore_failure, thinking_level,
};
pub use listing::{Row, rows, table};
pub use registry::{ModelRegistry, StoredCredentials};
pub use resolve::{ModelName, Reference, Resolution, Suffix, Target, resolve};
pub use scope::{Scope, ScopeWarning, Scoped, WarningKind, scope};
