//! The front door: which provider a model belongs to, which key opens it, which format it speaks.
//!
//! Knows keys and endpoints, but neither formats (that is `wire`) nor connections (that is
//! `http`). Configuration files and logins are above this crate; what they find arrives here as
//! [`ProviderConfig`]s and keys.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use pi_protocol::{
    AssistantMessage, AssistantStream, CancelToken, Context, EnvOverrides, Model, Provider,
    Request, StreamOptions,
};
use secrecy::SecretString;

use crate::credentials::{self, Credential};
use crate::http::{Exchange, Failure, HttpClient, HttpSource, open};
use crate::wire::{self, Call, HttpFailure, WireFormat};
use crate::{catalog, providers};

type Env = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Talks to every provider this crate knows, and to those you add. Cheap to clone.
///
/// Nothing is read, resolved or connected before the first request.
#[derive(Clone)]
pub struct Client {
    http: HttpClient,
    env: Env,
    custom: Arc<BTreeMap<String, ProviderConfig>>,
}

/// A provider of your own, or what to change about a built-in one.
#[derive(Debug, Clone, Default)]
pub struct ProviderConfig {
    /// The provider's id.
    pub id: String,
    /// Where requests go, if a model does not say.
    pub base_url: Option<String>,
    /// The wire format, if a model does not say.
    pub api: Option<String>,
    /// The key.
    pub api_key: Option<SecretString>,
    /// Variables that may hold the key. A provider of your own with neither key nor variables
    /// needs none, as local servers do.
    pub key_env: Vec<String>,
    /// Headers for every request.
    pub headers: BTreeMap<String, String>,
    /// Models beyond those of the catalog, or in place of them.
    pub models: Vec<Model>,
}

/// There is no such model.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The provider is neither built in nor configured.
    #[error("Unknown provider: {0}")]
    UnknownProvider(String),
    /// The provider has no model of this id.
    #[error("Provider {provider} has no model \"{id}\"")]
    UnknownModel {
        /// The provider's id.
        provider: String,
        /// The id that was asked for.
        id: String,
    },
}

impl Client {
    /// A client that finds keys in the process environment, as `ANTHROPIC_API_KEY` and the like.
    pub fn from_env() -> Self {
        // The one place in this library that looks at the environment, and only if asked to.
        #[allow(clippy::disallowed_methods)]
        Self::new(|name| std::env::var(name).ok())
    }

    /// A client that looks up variables with `env`.
    pub fn new(env: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self { http: HttpClient::default(), env: Arc::new(env), custom: Arc::default() }
    }

    /// Adds a provider, or changes a built-in one.
    #[must_use]
    pub fn with_provider(mut self, provider: ProviderConfig) -> Self {
        Arc::make_mut(&mut self.custom).insert(provider.id.clone(), provider);
        self
    }

    /// Uses this key for a built-in provider.
    #[must_use]
    pub fn with_key(self, provider: &str, key: impl Into<String>) -> Self {
        let mut config = self.custom.get(provider).cloned().unwrap_or_default();
        config.id = provider.to_owned();
        config.api_key = Some(SecretString::from(key.into()));
        self.with_provider(config)
    }

    /// Looks a model up: your own first, then the catalog's.
    pub fn model(&self, provider: &str, id: &str) -> Result<Arc<Model>, ModelError> {
        let custom = self.custom.get(provider);
        let own = custom.and_then(|config| config.models.iter().find(|model| model.id == id));
        if let Some(model) = own.cloned().or_else(|| catalog::find(provider, id)) {
            return Ok(Arc::new(self.completed(model)));
        }
        Err(if custom.is_none() && providers::provider(provider).is_none() {
            ModelError::UnknownProvider(provider.to_owned())
        } else {
            ModelError::UnknownModel { provider: provider.to_owned(), id: id.to_owned() }
        })
    }

    /// All models of a provider: your own, then the catalog's that they do not replace.
    pub fn models(&self, provider: &str) -> Vec<Model> {
        let custom = self.custom.get(provider);
        let own: Vec<Model> = custom.map(|config| config.models.clone()).unwrap_or_default();
        let replaced: Vec<String> = own.iter().map(|model| model.id.clone()).collect();
        own.into_iter()
            .chain(catalog::models(provider).filter(|model| !replaced.contains(&model.id)))
            .map(|model| self.completed(model))
            .collect()
    }

    /// The ids of all providers, built-in and added.
    pub fn providers(&self) -> Vec<String> {
        let built_in = providers::PROVIDERS.iter().map(|provider| provider.id.to_owned());
        let mut ids: Vec<String> = built_in.chain(self.custom.keys().cloned()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// There is a key for this provider, or it needs none.
    pub fn is_configured(&self, provider: &str) -> bool {
        !matches!(self.credential(provider, None, &EnvOverrides::new()), Credential::Missing)
    }

    /// Asks `model` and streams its answer.
    pub fn stream(
        &self,
        model: &Arc<Model>,
        context: Context,
        options: StreamOptions,
    ) -> AssistantStream {
        let request = Request { model: Arc::clone(model), context, options };
        Provider::stream(self, request, CancelToken::new())
    }

    /// Asks `model` and waits for its whole answer. Failures are in its `stop_reason`.
    pub async fn complete(
        &self,
        model: &Arc<Model>,
        context: Context,
        options: StreamOptions,
    ) -> Arc<AssistantMessage> {
        self.stream(model, context, options).result().await
    }

    /// Fills in what a record leaves to its provider.
    fn completed(&self, mut model: Model) -> Model {
        let custom = self.custom.get(&model.provider);
        let built_in = providers::provider(&model.provider);
        if let Some(url) = custom.and_then(|config| config.base_url.clone()) {
            model.base_url = url;
        }
        if model.base_url.is_empty()
            && let Some(url) = built_in.and_then(|provider| provider.base_url)
        {
            url.clone_into(&mut model.base_url);
        }
        if model.api.is_empty() {
            let api = custom.and_then(|config| config.api.clone());
            let built_in = || built_in.map(|provider| provider.api.to_owned());
            model.api = api.or_else(built_in).unwrap_or_default();
        }
        for (name, value) in custom.into_iter().flat_map(|config| &config.headers) {
            model.headers.entry(name.clone()).or_insert_with(|| value.clone());
        }
        model
    }

    fn credential(
        &self,
        provider: &str,
        explicit: Option<&SecretString>,
        overrides: &EnvOverrides,
    ) -> Credential {
        let env = |name: &str| overrides.get(name).cloned().or_else(|| (self.env)(name));
        credentials::find(provider, explicit, self.custom.get(provider), &env)
    }

    /// Resolves everything that a request leaves open.
    fn resolve(&self, request: Request) -> Result<(Call, &'static dyn WireFormat), String> {
        let model = self.completed((*request.model).clone());
        let format = wire::format(&model.api).ok_or_else(|| {
            format!("Provider {} has no API implementation for \"{}\"", model.provider, model.api)
        })?;
        let options = &request.options;
        let credential = self.credential(&model.provider, options.api_key.as_ref(), &options.env);
        let env = |name: &str| options.env.get(name).cloned().or_else(|| (self.env)(name));
        let mut model = credentials::place(model, &env)?;
        let options = options.clone();
        let (api_key, bearer) = match credential {
            Credential::Key { key, bearer } => (Some(key), bearer),
            Credential::NotNeeded => (Some(SecretString::from("unused")), false),
            Credential::Missing => (None, false),
        };
        let api_key = credentials::apply(&mut model, &options, api_key);
        let request = Request { model: Arc::new(model), context: request.context, options };
        let mut call = Call::new(request, api_key, &*self.env);
        call.bearer = bearer;
        Ok((call, format))
    }
}

impl Provider for Client {
    fn stream(&self, request: Request, cancel: CancelToken) -> AssistantStream {
        let model = Arc::clone(&request.model);
        let (call, format) = match self.resolve(request) {
            Ok(resolved) => resolved,
            Err(error) => return AssistantStream::failed(&model, error),
        };
        let thinking_level = format.thinking_level(&call);
        let timeouts = call.options.timeouts.clone();
        let http = self.http.clone();
        let source = HttpSource::new(timeouts, async move { exchange(&http, call, format).await });
        let mut stream = AssistantStream::new(&model, source, cancel);
        if let Some(message) = stream.message_mut() {
            message.provider_thinking_level = thinking_level;
        }
        stream
    }
}

/// Sends the call; once more with less in it, if the format knows how.
async fn exchange(
    http: &HttpClient,
    call: Call,
    format: &'static dyn WireFormat,
) -> Result<Exchange, String> {
    let mut diagnostics = Vec::new();
    let mut call = call;
    loop {
        let mut request = format.encode(&call).map_err(|error| with_hint(&call, &error))?;
        if let Some(replace) = &call.options.hooks.on_payload
            && let Some(body) = replace(&request.body, &call.model)
        {
            request.body = body;
        }
        request.headers = call.headers(request.headers);
        let failure = match open(http, &request, &call.options).await {
            Ok(opened) => {
                return Ok(Exchange { opened, decoder: format.decoder(&call), diagnostics });
            }
            Err(failure) => failure,
        };
        let Failure::Status(status) = &failure else {
            return Err(failure_text(&call, format, &failure));
        };
        match format.fallback(&call, status) {
            Some(fallback) => {
                diagnostics.push(fallback.diagnostic);
                call = fallback.call;
            }
            None => return Err(failure_text(&call, format, &failure)),
        }
    }
}

fn failure_text(call: &Call, format: &dyn WireFormat, failure: &Failure) -> String {
    let status_text = |failure: &HttpFailure| format.error_text(call, failure);
    match failure {
        Failure::Text(text) => text.clone(),
        Failure::Status(failure) => status_text(failure),
        Failure::PauseTooLong { pause, allowed, failure } => format!(
            "Server requested {}s retry delay (max: {}s). {}",
            pause.as_secs_f64().ceil(),
            allowed.as_secs_f64().ceil(),
            status_text(failure)
        ),
    }
}

/// A missing key is the first thing a new user meets: say what to do.
fn with_hint(call: &Call, error: &wire::EncodeError) -> String {
    let wire::EncodeError::MissingKey(provider) = error else { return error.to_string() };
    match providers::provider(provider).and_then(|info| info.key_env.last()) {
        Some(name) => format!("{error}. Set {name}, or pass a key with the request."),
        None => format!("{error}. Pass a key with the request to {}.", call.model.base_url),
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("custom", &self.custom).finish_non_exhaustive()
    }
}
