//! Models with their credentials, and a client for them.
//!
//! Keys are resolved for each request and not before: a command in the user's file may take seconds
//! or return a token that is valid for minutes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pi_ai::{Authorization, Client, FailedResponse, KeyScheme};
use pi_guard::secrets::Secrets;
use pi_protocol::Model;
use secrecy::{ExposeSecret, SecretString};

use super::credentials::{
    ConfiguredValue, CredentialError, CredentialSource, Secret, Source, address_known, variable,
};
use super::definitions::Models;
use super::file::{ModelsFile, ProviderRecord};
use super::local::{self, Endpoint, ServerKind};
use super::resolve::ModelName;
use super::updates::ModelUpdates;
use crate::config::{AuthStore, StoredCredential, ValueResolver};
use crate::extension::Registry;
use crate::secrets::{configured_secrets, header_secrets};
use crate::{Diagnostic, Environment};

/// Looks up the stored credential of a provider. Called for each request, since another program may
/// change it.
type StoredCredentials = dyn Fn(&str) -> Result<Option<StoredCredential>, String> + Send + Sync;

/// All models with their credentials. Clones share their state.
#[derive(Clone)]
pub struct ModelRegistry {
    shared: Arc<Shared>,
    client: Client,
}

struct Shared {
    environment: Environment,
    stored: Box<StoredCredentials>,
    resolver: ValueResolver,
    /// Secrets to redact; collected when they are first needed.
    secrets: OnceLock<Secrets>,
    state: RwLock<State>,
    /// The last response that was not 2xx.
    last_failure: Mutex<Option<FailedResponse>>,
}

/// The mutable state of a registry.
#[derive(Default)]
struct State {
    models: Models,
    /// The user's file, without the providers of extensions.
    file: ModelsFile,
    registered: Registered,
    /// Keys of the program, by provider.
    given: BTreeMap<String, SecretString>,
    /// Local servers were probed.
    probed: bool,
}

/// Providers of extensions.
#[derive(Default)]
struct Registered {
    generation: u64,
    records: Vec<(String, ProviderRecord)>,
    /// Providers that answer requests themselves, and need no credentials or wire format of ours.
    streaming: BTreeSet<String>,
}

impl ModelRegistry {
    /// Creates a registry of the catalog and the user's file. `stored` looks up the stored
    /// credential of a provider.
    pub fn new(
        environment: Environment,
        file: ModelsFile,
        stored: impl Fn(&str) -> Result<Option<StoredCredential>, String> + Send + Sync + 'static,
    ) -> Self {
        let updates = ModelUpdates::new(&environment.agent_directory);
        let models = Models::new(file.clone()).with_updates(updates);
        let state = State { models, file, ..State::default() };
        let shared = Arc::new(Shared {
            resolver: ValueResolver::new(environment.clone()),
            environment,
            stored: Box::new(stored),
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
                    Box::pin(
                        async move { shared.authorize(&request.model).await.map_err(Into::into) },
                    )
                })
                .with_redaction(move |text| quoted.secrets().redact_known(text).into_owned())
                .with_failures(move |failure| {
                    let last = failed.last_failure.lock();
                    *last.unwrap_or_else(PoisonError::into_inner) = Some(failure);
                });
        Self { shared, client }
    }

    /// Sends requests through this proxy, unless the environment has another one.
    #[must_use]
    pub fn with_proxy(mut self, url: Option<String>) -> Self {
        self.client = self.client.with_proxy(url);
        self
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
    pub(crate) fn available_names<'a>(&self, models: &'a Models) -> Vec<ModelName<'a>> {
        let usable = models.providers().filter(|provider| self.is_available(provider));
        usable.flat_map(|provider| models.names_of(provider)).collect()
    }

    /// Returns true if the provider is supported and has credentials or needs none. Runs no command:
    /// a command counts as a credential until it fails.
    pub fn is_available(&self, provider: &str) -> bool {
        if self.streams_itself(provider) {
            return true;
        }
        if !self.shared.read(|state| state.models.is_supported(provider)) {
            return false;
        }
        let source = self.shared.source(provider);
        let env = source.env();
        let resolver = &self.shared.resolver;
        source.is_usable(resolver) && address_known(provider, &|name| resolver.variable(name, &env))
    }

    /// Returns the source of a provider's credential; `None` if there is none. Resolves nothing.
    pub fn credential_source(&self, provider: &str) -> Option<CredentialSource> {
        self.shared.source(provider).public()
    }

    /// Returns the successors of a model that `models.json` names.
    pub(crate) fn fallbacks(&self, model: &Model) -> Vec<String> {
        let models = self.models();
        let Some(record) = models.record(&model.provider) else { return Vec::new() };
        let changed = record.model_overrides.get(&model.id).map(|changed| &changed.fallbacks);
        let own = record.models.iter().rev().find(|own| own.id == model.id);
        let own = own.map(|own| &own.facts.fallbacks);
        changed.filter(|list| !list.is_empty()).or(own).cloned().unwrap_or_default()
    }

    /// Resolves the key for requests to a provider.
    pub async fn api_key(&self, provider: &str) -> Result<SecretString, CredentialError> {
        self.shared.secret(provider).await.map(|secret| secret.key)
    }

    /// Resolves the key and the configured headers for requests to a model.
    pub async fn request_credentials(
        &self,
        model: &Model,
    ) -> Result<(Option<SecretString>, BTreeMap<String, String>), CredentialError> {
        let authorization = self.shared.authorize(model).await?;
        Ok((authorization.key, authorization.headers))
    }

    /// Returns the tokens of a login; `None` if the provider has none.
    pub fn stored_login(&self, provider: &str) -> Option<StoredCredential> {
        let stored = (self.shared.stored)(provider).ok().flatten();
        stored.filter(|stored| matches!(stored, StoredCredential::Oauth { .. }))
    }

    /// Stores the tokens of a login that were renewed.
    pub fn store_login(
        &self,
        provider: &str,
        login: &StoredCredential,
    ) -> Result<(), crate::config::ConfigError> {
        if let StoredCredential::Oauth { access, refresh, .. } = login {
            self.secrets().add([access.clone(), refresh.clone()]);
        }
        AuthStore::new(&self.shared.environment.agent_directory).set(provider, login)
    }

    /// Returns the secrets of this program: configured ones, and the keys of requests.
    pub(crate) fn secrets(&self) -> &Secrets {
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

    /// Takes over the providers of extensions. They change or add to those of the user's file.
    pub(crate) fn set_registered(&self, registry: &Registry) {
        let generation = registry.generation();
        if self.shared.read(|state| state.registered.generation == generation) {
            return;
        }
        let providers = registry.providers();
        let streaming: BTreeSet<String> = providers
            .iter()
            .filter(|provider| provider.stream.is_some())
            .map(|provider| provider.id.clone())
            .collect();
        // The registry refuses invalid configurations.
        let records: Vec<(String, ProviderRecord)> = providers
            .iter()
            .filter_map(|provider| Some((provider.id.clone(), provider.record().ok()?)))
            .collect();
        self.shared.write(|state| {
            let changed = records != state.registered.records;
            state.registered = Registered { generation, records, streaming };
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
    pub(super) fn endpoint(&self, kind: ServerKind) -> Option<Endpoint> {
        let host = self.shared.environment.variable("OLLAMA_HOST");
        local::endpoints(host).into_iter().find(|endpoint| endpoint.kind == kind)
    }

    /// Returns true if an extension answers the requests of a provider.
    pub(super) fn streams_itself(&self, provider: &str) -> bool {
        self.shared.read(|state| state.registered.streaming.contains(provider))
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
        let last = self.shared.last_failure.lock().unwrap_or_else(PoisonError::into_inner);
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
    fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        // No code panics while it holds the lock, so the state is always consistent.
        read(&self.state.read().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    fn write<T>(&self, write: impl FnOnce(&mut State) -> T) -> T {
        write(&mut self.state.write().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    fn secrets(&self) -> &Secrets {
        self.secrets.get_or_init(|| Secrets::new(configured_secrets(&self.environment)))
    }

    /// Returns the source of a provider's credential.
    fn source(&self, provider: &str) -> Source {
        let (given, configured, keyless) = self.read(|state| {
            let configured =
                state.models.record(provider).and_then(|record| record.api_key.clone());
            let keyless = state.models.needs_no_key(provider);
            (state.given.get(provider).cloned(), configured, keyless)
        });
        if let Some(key) = given.filter(|key| !key.expose_secret().is_empty()) {
            return Source::Given(key);
        }
        let mut env = BTreeMap::new();
        match (self.stored)(provider) {
            // Stored variables without a key may contain the key.
            Ok(Some(StoredCredential::ApiKey { key, env: stored, .. }))
                if key.as_ref().is_none_or(String::is_empty) =>
            {
                env = stored;
            }
            Ok(Some(stored)) => return Source::Stored(stored),
            // The user meant this credential, so no other replaces it.
            Err(why) => return Source::Broken(why),
            Ok(None) => {}
        }
        if let Some(text) = configured {
            return Source::Configured(text);
        }
        match variable(provider, &|name| self.resolver.variable(name, &env)) {
            Some((name, key)) => Source::Variable { name, key, env },
            None if keyless => Source::NotNeeded,
            None => Source::Missing,
        }
    }

    async fn secret(&self, provider: &str) -> Result<Secret, CredentialError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = now.as_secs_f64() * 1000.0;
        self.source(provider).resolve(provider, &self.resolver, now).await
    }

    /// Returns the key and the headers of a request to `model`.
    async fn authorize(&self, model: &Model) -> Result<Authorization, CredentialError> {
        let secret = self.secret(&model.provider).await?;
        let models = self.read(|state| state.models.clone());
        let mut headers = BTreeMap::new();
        if let Some(record) = models.record(&model.provider) {
            let own = record.models.iter().rev().find(|own| own.id == model.id);
            let changed = record.model_overrides.get(&model.id);
            let written = record
                .headers
                .iter()
                .chain(own.into_iter().flat_map(|own| &own.facts.headers))
                .chain(changed.into_iter().flat_map(|changed| &changed.headers));
            if record.auth_header {
                let bearer = format!("Bearer {}", secret.key.expose_secret());
                headers.insert("Authorization".to_owned(), bearer);
            }
            for (name, text) in written {
                let (what, provider) = (format!("The header {name}"), model.provider.as_str());
                let written = ConfiguredValue { text, what: &what, provider, file: "models.json" };
                headers.insert(name.clone(), written.value(&self.resolver).await?);
            }
        }
        // Added before an error can quote them.
        self.secrets().add([secret.key.expose_secret().to_owned()]);
        self.secrets().add(header_secrets(&headers));
        let mut authorization = Authorization::new(secret.key);
        if secret.bearer {
            authorization.scheme = KeyScheme::Bearer;
        }
        authorization.headers = headers;
        authorization.env = secret.env;
        Ok(authorization)
    }
}

impl Source {
    /// Returns the variables that are stored with the credential.
    fn env(&self) -> BTreeMap<String, String> {
        match self {
            Self::Stored(StoredCredential::ApiKey { env, .. }) | Self::Variable { env, .. } => {
                env.clone()
            }
            _ => BTreeMap::new(),
        }
    }
}

impl fmt::Debug for ModelRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelRegistry").finish_non_exhaustive()
    }
}
