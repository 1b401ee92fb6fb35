//! Providers that extensions register, as the registry of extensions holds them.

use std::sync::Arc;

use pi_protocol::Provider;
use serde_json::Value;

use crate::file::ProviderRecord;
use crate::login_hooks::ProviderLogin;
use crate::virtual_model::VirtualModel;

/// All providers and virtual models that extensions have registered.
#[derive(Debug, Default)]
pub struct Registrations {
    /// Providers, in the order of registration.
    pub providers: Vec<ProviderRegistration>,
    /// Virtual models, in the order of registration.
    pub virtual_models: Vec<VirtualModel>,
}

/// A provider of an extension, or changes to one that exists.
#[derive(Clone)]
#[non_exhaustive]
pub struct ProviderRegistration {
    /// Id of the provider.
    pub id: String,
    /// Configuration, as `models.json` has it under `providers`.
    pub config: Value,
    /// Answers the requests of the provider instead of the built-in client.
    pub stream: Option<Arc<dyn Provider>>,
    /// Signs in to the provider.
    pub login: Option<ProviderLogin>,
}

impl ProviderRegistration {
    /// Registers a provider with a configuration, as `models.json` has it under `providers`.
    pub fn new(id: impl Into<String>, config: Value) -> Self {
        Self { id: id.into(), config, stream: None, login: None }
    }

    /// Sets the implementation that answers the requests.
    #[must_use]
    pub fn stream(mut self, provider: Arc<dyn Provider>) -> Self {
        self.stream = Some(provider);
        self
    }

    /// Sets the login of the provider.
    #[must_use]
    pub fn login(mut self, login: ProviderLogin) -> Self {
        self.login = Some(login);
        self
    }

    /// Parses the configuration.
    ///
    /// # Errors
    ///
    /// Fails with a description of the problem.
    pub fn check(&self) -> Result<(), String> {
        self.record().map(drop)
    }

    pub(crate) fn record(&self) -> Result<ProviderRecord, String> {
        serde_json::from_value(self.config.clone()).map_err(|error| error.to_string())
    }
}

pi_protocol::debug_fields!(ProviderRegistration, id);
