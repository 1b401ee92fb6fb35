//! Models with their credentials, and a client for them.
//!
//! Keys are resolved for each request and not before: a command in the user's file may take seconds
//! or return a token that is valid for minutes.

mod authorize;
mod logins;
mod renewal;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock, RwLock};
use std::time::Duration;

use pi_ai::{AuthorizationRequest, Client, FailedResponse, providers};
use pi_base::{lock, unpoisoned};
use pi_config::{AuthStore, Settings, ValueResolver};
use pi_config::{Diagnostic, Environment};
use pi_guard::secrets::Secrets;
use pi_protocol::{EnvOverrides, Model};
use pi_web::WebClient;
use pi_web::cloud::CloudCache;
use pi_web::oauth::Service;
use secrecy::{ExposeSecret, SecretString};

use crate::accounts::{Accounts, CredentialName, split_account};
use crate::address::missing_variables;
use crate::credential_error::CredentialError;
use crate::credentials::{CredentialSource, Source};
use crate::definitions::Models;
use crate::file::{ModelsFile, ProviderRecord};
use crate::local::{self, Endpoint, ServerKind};
use crate::login_hooks::ProviderLogin;
use crate::registration::Registrations;
use crate::resolve::ModelName;
use crate::secrets::configured_secrets;
use crate::updates::ModelUpdates;
use crate::virtual_model::VIRTUAL_API;
use authorize::Wanted;
pub use logins::{LoggedOut, LoginChoice, LoginError, LoginKind, Revocation};

/// All models with their credentials. Clones share their state.
#[derive(Clone)]
pub struct ModelRegistry {
    pub(crate) shared: Arc<Shared>,
    client: Client,
}

pub(crate) struct Shared {
    pub(crate) environment: Environment,
    pub(crate) store: Arc<AuthStore>,
    pub(crate) resolver: ValueResolver,
    /// Credentials of the cloud providers' chains.
    pub(crate) cloud: CloudCache,
    /// Held while a login is renewed, so that the requests of this process wait for one renewal.
    pub(crate) renewal: Arc<tokio::sync::Mutex<()>>,
    /// Secrets to redact; collected when they are first needed.
    secrets: OnceLock<Secrets>,
    state: RwLock<State>,
    /// The last response that was not 2xx.
    last_failure: Mutex<Option<FailedResponse>>,
}

/// The mutable state of a registry.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) models: Models,
    /// The user's file, without the providers of extensions.
    file: ModelsFile,
    pub(crate) registered: Registered,
    /// Keys of the program, by provider.
    pub(crate) given: BTreeMap<String, SecretString>,
    /// The accounts that were chosen.
    pub(crate) accounts: Accounts,
    /// Services of the settings, by name.
    pub(crate) services: BTreeMap<String, Service>,
    /// Sends the requests of logins and of cloud providers' chains.
    web: Option<WebClient>,
    /// Local servers were probed.
    probed: bool,
}

/// Providers of extensions.
#[derive(Default)]
pub(crate) struct Registered {
    generation: u64,
    records: Vec<(String, ProviderRecord)>,
    /// Providers that answer requests themselves, and need no credentials or wire format of ours.
    streaming: BTreeSet<String>,
    /// Logins, by provider.
    pub(crate) logins: BTreeMap<String, ProviderLogin>,
}

impl ModelRegistry {
    /// Creates a registry of the catalog, the user's file and the stored credentials.
    pub fn new(environment: Environment, file: ModelsFile, store: Arc<AuthStore>) -> Self {
        let updates = ModelUpdates::new(&environment.agent_directory);
        let models = Models::new(file.clone()).with_updates(updates);
        let state = State { models, file, ..State::default() };
        let shared = Arc::new(Shared {
            resolver: ValueResolver::new(environment.clone()),
            environment,
            store,
            cloud: CloudCache::new(),
            renewal: Arc::default(),
            secrets: OnceLock::new(),
            state: RwLock::new(state),
            last_failure: Mutex::default(),
        });
        let (variables, asked) = (Arc::clone(&shared), Arc::clone(&shared));
        let (quoted, failed) = (Arc::clone(&shared), Arc::clone(&shared));
        let client =
            Client::new(move |name| variables.environment.variable(name).map(str::to_owned))
                .with_authorization(move |request| {
                    let shared = Arc::clone(&asked);
                    Box::pin(async move { shared.authorize(&request).await.map_err(Into::into) })
                })
                .with_redaction(move |text| quoted.secrets().redact_known(text).into_owned())
                .with_failures(move |failure| {
                    let last = failed.last_failure.lock();
                    *unpoisoned(last) = Some(failure);
                });
        shared.write(|state| state.web = Some(client.web()));
        Self { shared, client }
    }

    /// Sends requests through this proxy, unless the environment has another one.
    #[must_use]
    pub fn with_proxy(mut self, url: Option<String>) -> Self {
        self.client = self.client.with_proxy(url);
        self.shared.write(|state| state.web = Some(self.client.web()));
        self
    }

    /// Applies the accounts and services of the settings.
    #[must_use]
    pub fn with_settings(self, settings: &Settings) -> Self {
        let accounts = settings.accounts.clone().unwrap_or_default();
        let services = settings.oauth.clone().unwrap_or_default();
        self.shared.write(|state| {
            state.accounts.configured = accounts;
            state.services = services;
        });
        self.with_proxy(settings.http_proxy.clone())
    }

    /// Uses an account for the requests of its provider. It takes precedence over the settings.
    pub fn choose_account(&self, name: CredentialName) {
        self.shared.write(|state| {
            state.accounts.given.insert(name.provider.clone(), name);
        });
    }

    /// Chooses the account that a model names, as in `openai@work/gpt`. Returns the model without
    /// the account.
    pub fn with_account(&self, model: &str) -> String {
        match split_account(model) {
            Some((rest, name)) if self.models().providers().any(|id| id == name.provider) => {
                self.choose_account(name);
                rest
            }
            _ => model.to_owned(),
        }
    }

    /// Returns a snapshot of the models.
    pub fn models(&self) -> Models {
        self.shared.read(|state| state.models.clone())
    }

    /// Returns the model with exactly these ids, with or without credentials.
    pub fn find(&self, provider: &str, id: &str) -> Option<Arc<Model>> {
        self.models().find(provider, id).map(Arc::new)
    }

    /// Returns all models. This decodes the whole catalog; `models().names()` is enough to find one.
    pub fn all(&self) -> Vec<Arc<Model>> {
        let models = self.models();
        models.providers().flat_map(|provider| models.models_of(provider)).map(Arc::new).collect()
    }

    /// Returns the models whose providers have credentials.
    pub fn available(&self) -> Vec<Arc<Model>> {
        let models = self.models();
        let usable = models.providers().filter(|provider| self.is_available(provider));
        usable.flat_map(|provider| models.models_of(provider)).map(Arc::new).collect()
    }

    /// Returns the names of the models in `models` whose providers have credentials.
    pub fn available_names<'a>(&self, models: &'a Models) -> Vec<ModelName<'a>> {
        let usable = models.providers().filter(|provider| self.is_available(provider));
        usable.flat_map(|provider| models.names_of(provider)).collect()
    }

    /// Returns true if the provider is supported and has credentials or needs none. Runs no command:
    /// a command counts as a credential until it fails.
    pub fn is_available(&self, provider: &str) -> bool {
        if self.streams_itself(provider) || self.models().is_virtual(provider) {
            return true;
        }
        if !self.shared.read(|state| state.models.is_supported(provider)) {
            return false;
        }
        let source = self.shared.source(provider);
        !source.is_uncertain()
            && self.shared.problem(provider, &source).is_none()
            && self.shared.missing_variables(provider, &source).is_empty()
    }

    /// Returns the source of a provider's credential; `None` if there is none. Resolves nothing.
    pub fn credential_source(&self, provider: &str) -> Option<CredentialSource> {
        self.shared.source(provider).public()
    }

    /// Returns the successors of a model that `models.json` names.
    pub fn fallbacks(&self, model: &Model) -> Vec<String> {
        let models = self.models();
        let Some(record) = models.record(&model.provider) else { return Vec::new() };
        let changed = record.model_overrides.get(&model.id).map(|changed| &changed.fallbacks);
        let own = record.models.iter().rev().find(|own| own.id == model.id);
        let own = own.map(|own| &own.facts.fallbacks);
        changed.filter(|list| !list.is_empty()).or(own).cloned().unwrap_or_default()
    }

    /// Resolves the key for requests to a provider.
    pub async fn api_key(&self, provider: &str) -> Result<SecretString, CredentialError> {
        self.key_for(provider, None).await
    }

    /// Resolves the key or token for requests to a provider. A login is renewed if it does not stay
    /// valid for this time.
    pub async fn bearer_token(
        &self,
        provider: &str,
        remaining: Duration,
    ) -> Result<SecretString, CredentialError> {
        self.key_for(provider, Some(remaining.as_secs_f64() * 1000.0)).await
    }

    async fn key_for(
        &self,
        provider: &str,
        remaining: Option<f64>,
    ) -> Result<SecretString, CredentialError> {
        let env = EnvOverrides::new();
        let wanted = Wanted { provider, env: &env, rejected: None, remaining };
        let authorization = self.shared.credentials(wanted).await?;
        authorization.key.ok_or_else(|| CredentialError::NotAKey { provider: provider.to_owned() })
    }

    /// Resolves the key and the configured headers for requests to a model.
    pub async fn request_credentials(
        &self,
        model: &Model,
    ) -> Result<(Option<SecretString>, BTreeMap<String, String>), CredentialError> {
        let request = AuthorizationRequest::new(Arc::new(model.clone()));
        let authorization = self.shared.authorize(&request).await?;
        Ok((authorization.key, authorization.headers))
    }

    /// Returns the secrets of this program: configured ones, and the keys of requests.
    pub fn secrets(&self) -> &Secrets {
        self.shared.secrets()
    }

    /// Sets the key of a provider for this process. It takes precedence over all others.
    pub fn set_key(&self, provider: &str, key: impl Into<SecretString>) {
        let key = key.into();
        self.secrets().add([key.expose_secret().to_owned()]);
        self.shared.write(|state| {
            state.given.insert(provider.to_owned(), key);
        });
    }

    /// Returns the problem of the stored catalog updates, if they were needed and cannot be used.
    pub fn update_problem(&self) -> Option<Diagnostic> {
        self.models().updates().problem()
    }

    /// Replaces the user's file, and reads the catalog updates again when they are needed.
    pub fn reload(&self, file: ModelsFile) {
        let updates = ModelUpdates::new(&self.shared.environment.agent_directory);
        self.shared.write(|state| {
            state.models = state.models.clone().with_updates(updates);
            state.file = file;
            state.update_models();
        });
    }

    /// Takes over the providers of extensions, if their generation is a new one. They change or add
    /// to those of the user's file.
    pub fn set_registered(&self, generation: u64, read: impl FnOnce() -> Registrations) {
        if self.shared.read(|state| state.registered.generation == generation) {
            return;
        }
        let Registrations { providers, virtual_models } = read();
        let logins = providers.iter();
        let logins = logins.filter_map(|own| Some((own.id.clone(), own.login.clone()?))).collect();
        let streaming: BTreeSet<String> = providers
            .iter()
            .filter(|provider| provider.stream.is_some())
            .map(|provider| provider.id.clone())
            .collect();
        // The registry of extensions refuses invalid configurations.
        let records: Vec<(String, ProviderRecord)> = providers
            .iter()
            .filter_map(|provider| Some((provider.id.clone(), provider.record().ok()?)))
            .collect();
        let virtual_models = virtual_models.into_iter().map(|one| one.model).collect();
        self.shared.write(|state| {
            state.models = state.models.clone().with_virtual(virtual_models);
            let changed = records != state.registered.records;
            state.registered = Registered { generation, records, streaming, logins };
            if changed {
                state.update_models();
            }
        });
    }

    /// Probes the model servers of this machine, once, and adds those that respond in time.
    pub async fn find_local_servers(&self) {
        let host = self.shared.environment.variable("OLLAMA_HOST");
        self.probe(&local::endpoints(host), local::TIMEOUT).await;
    }

    /// Returns the address at which a kind of local server is looked for.
    pub(crate) fn endpoint(&self, kind: ServerKind) -> Option<Endpoint> {
        let host = self.shared.environment.variable("OLLAMA_HOST");
        local::endpoints(host).into_iter().find(|endpoint| endpoint.kind == kind)
    }

    /// Returns true if an extension answers the requests of a provider.
    pub(crate) fn streams_itself(&self, provider: &str) -> bool {
        self.shared.read(|state| state.registered.streaming.contains(provider))
    }

    /// Returns true for a virtual model.
    pub fn is_virtual(&self, provider: &str, id: &str) -> bool {
        self.models().find(provider, id).is_some_and(|model| model.api == VIRTUAL_API)
    }

    /// Returns true if an extension defines this model.
    pub(crate) fn is_registered(&self, provider: &str, id: &str) -> bool {
        self.shared.read(|state| {
            let mut records = state.registered.records.iter();
            records.any(|(of, record)| {
                of == provider && record.models.iter().any(|model| model.id == id)
            })
        })
    }

    /// Probes model servers at other addresses, once.
    pub async fn probe(&self, endpoints: &[Endpoint], timeout: Duration) {
        if self.shared.read(|state| state.probed) {
            return;
        }
        let found = local::discover(endpoints, timeout).await;
        self.shared.write(|state| {
            state.probed = true;
            state.models = state.models.with_local(found);
        });
    }

    /// Returns the last response of this model's provider that was not 2xx, with its whole body.
    pub fn last_failure(&self, model: &Model) -> Option<FailedResponse> {
        let last = lock(&self.shared.last_failure);
        let is_of = |failure: &&FailedResponse| {
            failure.provider == model.provider && failure.model == model.id
        };
        last.as_ref().filter(is_of).cloned()
    }

    /// Returns a client that resolves the credentials of each request.
    pub fn client(&self) -> &Client {
        &self.client
    }
}

impl State {
    fn update_models(&mut self) {
        let mut file = self.file.clone();
        for (id, record) in &self.registered.records {
            match file.providers.iter_mut().find(|(other, _)| other == id) {
                Some((_, own)) => *own = own.overridden_by(record),
                None => file.providers.push((id.clone(), record.clone())),
            }
        }
        self.models = self.models.with_file(file);
    }
}

impl Shared {
    pub(crate) fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        // No code panics while it holds the lock, so the state is always consistent.
        let state = unpoisoned(self.state.read());
        read(&state)
    }

    pub(crate) fn write<T>(&self, write: impl FnOnce(&mut State) -> T) -> T {
        let mut state = unpoisoned(self.state.write());
        write(&mut state)
    }

    pub(crate) fn secrets(&self) -> &Secrets {
        self.secrets.get_or_init(|| Secrets::new(configured_secrets(&self.environment)))
    }

    /// Returns the client for logins and for the chains of cloud providers.
    pub(crate) fn web(&self) -> WebClient {
        let known = self.read(|state| state.web.clone());
        known.unwrap_or_else(|| WebClient::new(Arc::new(|_| None)))
    }

    /// Returns the name of a provider for people.
    pub(crate) fn display_name(&self, provider: &str) -> String {
        let own = self.read(|state| state.models.display_name(provider).map(str::to_owned));
        let built_in = || providers::provider(provider).map(|info| info.name.to_owned());
        own.or_else(built_in).unwrap_or_else(|| provider.to_owned())
    }

    /// Returns the reason why a source has no credential, as far as it is known without a request.
    pub(crate) fn problem(&self, provider: &str, source: &Source) -> Option<CredentialError> {
        match source.is_missing() {
            true => Some(self.missing(provider)),
            false => source.problem(provider, &self.resolver),
        }
    }

    /// Returns the variables that are missing in the address of a provider.
    pub(crate) fn missing_variables(&self, provider: &str, source: &Source) -> Vec<String> {
        let env = source.env();
        let models = self.read(|state| state.models.clone());
        missing_variables(provider, source, &models, &|name| self.resolver.variable(name, &env))
    }
}

pi_protocol::debug_fields!(ModelRegistry);
