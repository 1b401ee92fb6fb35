//! Models: the known ones, those with credentials, and the selection of one.
//!
//! [`Models`] combines the built-in catalog, the user's `models.json` and local servers.
//! [`ModelRegistry`] adds credentials and a client that resolves them for each request. Selecting a
//! model, for example with [`select_model`], is a pure function over names: no record of the catalog
//! is decoded before it is selected.

mod credentials;
mod definitions;
mod fallback;
mod file;
mod initial;
mod jsonc;
mod listing;
pub mod local;
mod patch;
mod registry;
mod request;
mod resolve;
mod scope;
mod select;
mod update;
mod updates;
mod usable;
mod violations;

#[cfg(test)]
mod tests;

pub use credentials::{CredentialError, CredentialSource};
pub use definitions::Models;
pub(crate) use fallback::Chain;
pub use fallback::Fallbacks;
pub use file::ModelsFile;
pub(crate) use file::ProviderRecord;
pub(crate) use initial::{initial_model, restore_failure, thinking_level};
pub use listing::{ModelRow, model_rows, model_table};
pub use registry::ModelRegistry;
pub use request::RequestedModel;
pub use resolve::ModelName;
pub(crate) use scope::{ScopedName, model_scope};
pub use select::{
    ModelOrigin, ModelRequest, ModelSelection, SelectModelError, SelectedModel, select_model,
};
pub use update::{CatalogUpdate, ProviderUpdate, UpdateError, update_models};
pub use usable::UnusableModel;
