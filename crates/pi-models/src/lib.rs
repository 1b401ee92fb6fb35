//! Models: the known ones, those with credentials, and the selection of one.
//!
//! [`Models`] combines the built-in catalog, the user's `models.json`, local servers and the
//! providers of extensions. [`ModelRegistry`] adds credentials and a client that resolves them for
//! each request. Selecting a model, for example with [`select_model`], is a pure function over
//! names: no record of the catalog is decoded before it is selected.
//!
//! # What this crate must not know
//!
//! Sessions, extensions, terminals, arguments. What an extension registers arrives as data
//! ([`Registrations`]). The process environment comes from the program
//! ([`pi_config::Environment`]).
//!
//! # Where to start reading
//!
//! [`ModelRegistry`] is what sessions and commands use. `definitions` and `file` say what a model
//! is, `credentials` and `authorize` where the key of a request comes from, `select` which model a
//! name means.

mod accounts;
mod address;
mod credential_error;
mod credentials;
mod definitions;
mod describe;
mod fallback;
mod file;
mod hidden;
mod initial;
mod jsonc;
mod listing;
pub mod local;
mod login_hooks;
mod patch;
mod registration;
mod registry;
mod request;
mod resolve;
mod schemas;
mod scope;
mod secrets;
mod select;
mod status;
mod store;
mod tokens;
mod update;
mod updates;
mod usable;
mod virtual_model;

#[cfg(test)]
mod tests;

pub use accounts::{CredentialName, InvalidAccount};
pub use credential_error::CredentialError;
pub use credentials::CredentialSource;
pub use definitions::Models;
pub use describe::{ModelDescription, RecordSource};
pub use fallback::Chain;
pub use fallback::Fallbacks;
pub use file::ModelsFile;
pub use hidden::hidden_paths;
pub use initial::{initial_model, restore_failure, thinking_level};
pub use listing::{ModelRow, model_rows, model_table, short_count};
pub use login_hooks::{LoginResult, LoginTokens, ProviderLogin};
pub use registration::{ProviderRegistration, Registrations};
pub use registry::{LoggedOut, LoginChoice, LoginError, LoginKind, ModelRegistry, Revocation};
pub use request::RequestedModel;
pub use resolve::ModelName;
pub use schemas::schemas;
pub use scope::{ModelScope, ScopeWarning, ScopeWarningKind, ScopedName, model_scope};
pub use secrets::{configured_secrets, header_secrets, key_commands, server_secrets};
pub use select::{
    ModelOrigin, ModelRequest, ModelSelection, SelectModelError, SelectedModel, select_model,
};
pub use status::{AuthStatus, ExplainedSource, SourceOutcome};
pub use update::{CatalogUpdate, ProviderUpdate, UpdateError, update_models};
pub use usable::{LookedUp, UnusableModel};
pub use virtual_model::{Route, RouteReason, RouteRequest, Router, VIRTUAL_API, VirtualModel};
