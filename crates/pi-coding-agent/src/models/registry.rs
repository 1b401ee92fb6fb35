//! Models and what opens them: which can be used, and a client that uses them.
//!
//! Keys are found when a request is made and not before: a command in the user's file may take
//! seconds or give a token that lives for minutes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, OnceLock, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pi_ai::{Authorization, Client, KeyScheme};
use pi_guard::secrets::Secrets;
use pi_protocol::Model;
use secrecy::{ExposeSecret, SecretString};

use super::credentials::{
    CredentialError, CredentialSource, Secret, Source, Written, address_known, variable,
};
use super::definitions::Models;
use super::file::{ModelsFile, ProviderRecord};
use super::local::{self, Endpoint};
use super::resolve::ModelName;
use crate::Environment;
use crate::config::{StoredCredential, ValueResolver};
use crate::extension::Registry;
use crate::secrets::{configured_secrets, header_secrets};

/// Finds the stored credential of a provider. Asked anew each time: another program may have
/// changed it.
pub type StoredCredentials = dyn Fn(&str) -> Result<Option<StoredCredential>, String> + Send + Sync;

/// All models with their credentials. Cheap to clone; clones share what is learnt.
#[derive(Clone)]
pub struct ModelRegistry {
    shared: Arc<Shared>,
    client: Client,
}

struct Shared {
    environment: Environment,
    stored: Box<StoredCredentials>,
    resolver: ValueResolver,
    /// What must not be quoted; found when it is first needed.
    secrets: OnceLock<Secrets>,
    state: RwLock<State>,
}

/// What changes while the program runs.
#[derive(Default)]
struct State {
    models: Models,
    /// The user's file, without the providers of extensions.
    file: ModelsFile,
    registered: Registered,
    /// Keys of the command line, by provider.
    given: BTreeMap<String, SecretString>,
    /// Local servers were looked for.
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
    /// A registry over the catalog and the user's file.
    pub fn new(
        environment: Environment,
        file: ModelsFile,
        stored: impl Fn(&str) -> Result<Option<StoredCredential>, String> + Send + Sync + 'static,
    ) -> Self {
        let state = State { models: Models::new(file.clone()), file, ..State::default() };
        let shared = Arc::new(Shared {
            resolver: ValueResolver::new(environment.clone()),
            environment,
            stored: Box::new(stored),
            secrets: OnceLock::new(),
            state: RwLock::new(state),
        });
        let (variables, asked) = (Arc::clone(&shared), Arc::clone(&shared));
        let quoted = Arc::clone(&shared);
        let client =
            Client::new(move |name| variables.environment.variable(name).map(str::to_owned))
                .with_authorization(move |model| {
                    let shared = Arc::clone(&asked);
                    Box::pin(async move { shared.authorize(&model).await.map_err(Into::into) })
                })
                .with_redaction(move |text| quoted.secrets().redact_known(text).into_owned());
        Self { shared, client }
    }

    /// The models as they are now.
    pub fn models(&self) -> Models {
        self.shared.read(|state| state.models.clone())
    }

    /// The model with exactly these ids, whether it can be used or not.
    pub fn find(&self, provider: &str, id: &str) -> Option<Arc<Model>> {
        self.models().find(provider, id).map(Arc::new)
    }

    /// All models. This decodes the whole catalog; to find one, `models().names()` is enough.
    pub fn all(&self) -> Vec<Arc<Model>> {
        let models = self.models();
        models.providers().flat_map(|provider| models.models_of(provider)).map(Arc::new).collect()
    }

    /// The models whose providers have credentials.
    pub fn available(&self) -> Vec<Arc<Model>> {
        let models = self.models();
        let usable = models.providers().filter(|provider| self.is_available(provider));
        usable.flat_map(|provider| models.models_of(provider)).map(Arc::new).collect()
    }

    /// The names of the models in `models` whose providers have credentials.
    pub fn available_names<'a>(&self, models: &'a Models) -> Vec<ModelName<'a>> {
        let usable = models.providers().filter(|provider| self.is_available(provider));
        usable.flat_map(|provider| models.names_of(provider)).collect()
    }

    /// The provider can be talked to, and there are credentials for it or it needs none. Runs no
    /// command: one that will fail counts as a credential until it does.
    pub fn is_available(&self, provider: &str) -> bool {
        if self.shared.read(|state| state.registered.streaming.contains(provider)) {
            return true;
        }
        if !self.shared.read(|state| state.models.is_spoken(provider)) {
            return false;
        }
        let source = self.shared.source(provider);
        let env = source.env();
        let resolver = &self.shared.resolver;
        source.is_usable(resolver) && address_known(provider, &|name| resolver.variable(name, &env))
    }

    /// Where the credential of a provider comes from; `None` if there is none. Resolves nothing.
    pub fn credential_source(&self, provider: &str) -> Option<CredentialSource> {
        self.shared.source(provider).public()
    }

    /// The key that a request to this provider would be sent with.
    pub async fn api_key(&self, provider: &str) -> Result<SecretString, CredentialError> {
        self.shared.secret(provider).await.map(|secret| secret.key)
    }

    /// The secrets of this program: what its user configured, and the keys that requests were sent
    /// with.
    pub fn secrets(&self) -> &Secrets {
        self.shared.secrets()
    }

    /// Uses this key for a provider, before all others and until the program ends.
    pub fn set_key(&self, provider: &str, key: impl Into<SecretString>) {
        let key = key.into();
        self.secrets().add([key.expose_secret().to_owned()]);
        self.shared.write(|state| {
            state.given.insert(provider.to_owned(), key);
        });
    }

    /// Takes another version of the user's file.
    pub fn reload(&self, file: ModelsFile) {
        self.shared.write(|state| {
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

    /// Looks for model servers on this machine, once, and adds those that answer in time.
    pub async fn find_local_servers(&self) {
        self.probe(&local::DEFAULT_ENDPOINTS, local::PATIENCE).await;
    }

    /// The same at other addresses.
    pub async fn probe(&self, endpoints: &[Endpoint], patience: Duration) {
        if self.shared.read(|state| state.probed) {
            return;
        }
        let found = local::discover(endpoints, patience).await;
        self.shared.write(|state| {
            state.probed = true;
            state.models = state.models.with_local(found);
        });
    }

    /// A client that finds the credentials of each request when it is made.
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
        // Nothing panics while it holds the lock, and the state is whole at any time.
        read(&self.state.read().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    fn write<T>(&self, write: impl FnOnce(&mut State) -> T) -> T {
        write(&mut self.state.write().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    fn secrets(&self) -> &Secrets {
        self.secrets.get_or_init(|| Secrets::new(configured_secrets(&self.environment)))
    }

    /// Where the credential of a provider is.
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
            // Stored variables without a key: the key is looked for among them too.
            Ok(Some(StoredCredential::ApiKey { key, env: stored, .. }))
                if key.as_ref().is_none_or(String::is_empty) =>
            {
                env = stored;
            }
            Ok(Some(stored)) => return Source::Stored(stored),
            // What was meant to be used is not replaced by something else.
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
        self.source(provider).secret(provider, &self.resolver, now).await
    }

    /// What a request to `model` is allowed with.
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
                let written = Written { text, what: &what, provider, file: "models.json" };
                headers.insert(name.clone(), written.value(&self.resolver).await?);
            }
        }
        // Before anybody can quote them.
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
    /// The variables that were stored with it.
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
