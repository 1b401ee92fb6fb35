//! Looking up a model that was asked for by name, and the reasons why it cannot be used.
//!
//! A model that was asked for is never replaced by one of another provider.

use std::sync::Arc;

use pi_ai::{providers, wire};
use pi_protocol::Model;

use crate::credential_error::CredentialError;
use crate::initial::default_model;
use crate::local::{self, ServerKind};
use crate::registry::ModelRegistry;
use crate::virtual_model::VIRTUAL_API;

/// The reasons why a model cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnusableModel {
    /// The provider has no usable credentials.
    #[error(transparent)]
    Credentials(#[from] CredentialError),
    /// The URL of the provider has variables that are not set.
    #[error("the address of {provider} requires {}", variables.join(" and "))]
    Address {
        /// Id of the provider.
        provider: String,
        /// Names of the environment variables; alternatives are one text.
        variables: Vec<String>,
    },
    /// The wire format of the model is not supported.
    #[error("this version does not support {provider} (format {api})")]
    Unsupported {
        /// Id of the provider.
        provider: String,
        /// Name of the wire format.
        api: String,
    },
    /// No local model server responds.
    #[error("no {provider} server is running at {url}")]
    NoServer {
        /// Id of the provider.
        provider: String,
        /// Address that was probed.
        url: String,
    },
    /// The provider does not exist.
    #[error("there is no provider \"{0}\"")]
    UnknownProvider(String),
    /// The provider has no models.
    #[error("{0} has no models")]
    NoModels(String),
}

/// A model that was looked up.
#[derive(Debug, Clone)]
pub struct LookedUp {
    /// The model.
    pub model: Arc<Model>,
    /// The id is unknown; the model is another one of the same provider.
    pub replaced: bool,
}

impl ModelRegistry {
    /// Looks up a model by provider and id. Without an id, or with an unknown one, returns the
    /// default model of the provider. Probes local servers if the provider is one.
    pub async fn look_up(
        &self,
        provider: &str,
        id: Option<&str>,
    ) -> Result<LookedUp, UnusableModel> {
        // A provider of this name in the user's file takes precedence.
        if local::names_local_provider(provider) && self.models().record(provider).is_none() {
            self.find_local_servers().await;
        }
        self.check_provider(provider)?;
        let exact = id.and_then(|id| self.find(provider, id));
        let replaced = exact.is_none() && id.is_some();
        let model = exact.or_else(|| self.default_model(provider));
        let model = model.ok_or_else(|| UnusableModel::NoModels(provider.to_owned()))?;
        self.check_format(&model)?;
        Ok(LookedUp { model, replaced })
    }

    /// Returns the model of a provider that is used if none is named.
    pub fn default_model(&self, provider: &str) -> Option<Arc<Model>> {
        let default = default_model(provider).and_then(|id| self.find(provider, id));
        default.or_else(|| {
            let models = self.models();
            let names = models.names_of(provider);
            self.find(provider, names.first()?.id)
        })
    }

    /// Returns the reason why a model cannot be used, if there is one.
    pub fn check_usable(&self, model: &Model) -> Result<(), UnusableModel> {
        self.check_provider(&model.provider)?;
        self.check_format(model)
    }

    /// Returns the reason why a provider cannot be used, as far as it is known without running a
    /// command or sending a request.
    pub fn check_provider(&self, provider: &str) -> Result<(), UnusableModel> {
        if self.is_available(provider) {
            return Ok(());
        }
        let models = self.models();
        if !models.providers().any(|known| known == provider) {
            let local = ServerKind::ALL.into_iter().find(|kind| kind.provider() == provider);
            return Err(match local.and_then(|kind| self.endpoint(kind)) {
                Some(endpoint) => {
                    let url = format!("http://{}", endpoint.address);
                    UnusableModel::NoServer { provider: provider.to_owned(), url }
                }
                None => UnusableModel::UnknownProvider(provider.to_owned()),
            });
        }
        if !models.is_supported(provider) {
            let api = providers::provider(provider).map(|info| info.api).unwrap_or_default();
            let (provider, api) = (provider.to_owned(), api.to_owned());
            return Err(UnusableModel::Unsupported { provider, api });
        }
        let source = self.shared.source(provider);
        if let Some(error) = self.shared.problem(provider, &source) {
            return Err(error.into());
        }
        let variables = self.shared.missing_variables(provider, &source);
        if variables.is_empty() {
            // A source that only a request can tell apart from none.
            return Ok(());
        }
        Err(UnusableModel::Address { provider: provider.to_owned(), variables })
    }

    pub(crate) fn check_format(&self, model: &Model) -> Result<(), UnusableModel> {
        if wire::format(&model.api).is_some()
            || model.api == VIRTUAL_API
            || self.streams_itself(&model.provider)
        {
            return Ok(());
        }
        let (provider, api) = (model.provider.clone(), model.api.clone());
        Err(UnusableModel::Unsupported { provider, api })
    }
}
