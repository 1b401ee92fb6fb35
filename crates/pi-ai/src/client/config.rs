//! Configuration of a client: providers and credentials.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

use pi_protocol::{EnvOverrides, Model};
use pi_web::Authorization;
use secrecy::SecretString;

/// A request that needs credentials.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AuthorizationRequest {
    /// The model to which the request goes.
    pub model: Arc<Model>,
    /// Variables of the request, which win over all others.
    pub env: EnvOverrides,
    /// The renewable credentials that the provider has just rejected.
    pub rejected: Option<Authorization>,
}

impl AuthorizationRequest {
    /// Creates the first request for the credentials of a model.
    pub fn new(model: Arc<Model>) -> Self {
        Self { model, env: EnvOverrides::new(), rejected: None }
    }
}

/// A response that is not 2xx.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FailedResponse {
    /// Id of the provider.
    pub provider: String,
    /// Id of the model.
    pub model: String,
    /// The HTTP status code.
    pub status: u16,
    /// The body, redacted, as far as it was read.
    pub body: String,
}

/// Supplies the credentials for a request to a model.
pub type Authorize = dyn Fn(AuthorizationRequest) -> PendingAuthorization + Send + Sync;

/// The pending result of [`Authorize`].
pub type PendingAuthorization =
    Pin<Box<dyn Future<Output = Result<Authorization, AuthorizeError>> + Send>>;

/// The reason why a request has no credentials. Its text becomes the error of the answer.
pub type AuthorizeError = Box<dyn std::error::Error + Send + Sync>;

/// The configuration of a custom provider, or changes to a built-in one.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ProviderConfig {
    /// Id of the provider.
    pub id: String,
    /// The base URL of all models of the provider.
    pub base_url: Option<String>,
    /// The wire format of models that do not name one.
    pub api: Option<String>,
    /// The API key.
    pub api_key: Option<SecretString>,
    /// Names of variables that may hold the key. A custom provider with neither key nor variables
    /// needs no key, as is usual for local servers.
    pub key_env: Vec<String>,
    /// Headers of every request.
    pub headers: BTreeMap<String, String>,
    /// Models that are added to the catalog or replace models of it.
    pub models: Vec<Model>,
}

impl ProviderConfig {
    /// Creates a configuration with this id and nothing else.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }

    /// Sets the base URL of the provider.
    #[must_use]
    pub fn with_base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Sets the default wire format.
    #[must_use]
    pub fn with_api(mut self, api: impl Into<String>) -> Self {
        self.api = Some(api.into());
        self
    }

    /// Sets the API key.
    #[must_use]
    pub fn with_api_key(mut self, key: impl Into<SecretString>) -> Self {
        self.api_key = Some(key.into());
        self
    }

    /// Adds a header to every request.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// Adds a model of the provider.
    #[must_use]
    pub fn with_model(mut self, model: Model) -> Self {
        self.models.push(model);
        self
    }
}

/// A model was not found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The provider is neither built in nor configured.
    #[error("Unknown provider: {0}")]
    UnknownProvider(String),
    /// The provider has no model of this id.
    #[error("Provider {provider} has no model \"{id}\"")]
    UnknownModel {
        /// Id of the provider.
        provider: String,
        /// Id of the model.
        id: String,
    },
}
