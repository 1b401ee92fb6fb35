//! The front door: which provider a model belongs to, which key opens it, which format it speaks.
//!
//! Knows keys and endpoints, but neither formats (that is `wire`) nor connections (that is
//! `http`). Configuration files and logins are above this crate; what they find arrives here as
//! [`ProviderConfig`]s and keys.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use pi_protocol::{
    AssistantMessage, AssistantStream, CancelToken, Context, EnvOverrides, Model, Provider,
    Request, StreamOptions,
};
use secrecy::{ExposeSecret, SecretString};

use crate::credentials::{self, Credential};
use crate::hooks::{self, HookPanicked};
use crate::http::{Exchange, Failure, HttpClient, HttpSource, RedactFn, Redacted, open, redacted};
use crate::wire::{self, Call, HttpFailure, KeyScheme, WireFormat};
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
    authorize: Option<Arc<Authorize>>,
    redact: Option<RedactFn>,
}

/// Credentials for one request.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Authorization {
    /// The API key or token.
    pub key: Option<SecretString>,
    /// The way in which the key is sent.
    pub scheme: KeyScheme,
    /// Headers, which win over those of the model.
    pub headers: BTreeMap<String, String>,
    /// Variables for the provider's address, which win over those of the process.
    pub env: EnvOverrides,
}

impl Authorization {
    /// Credentials that consist of a key.
    pub fn new(key: impl Into<SecretString>) -> Self {
        Self { key: Some(key.into()), ..Self::default() }
    }
}

/// Supplies the credentials for a request to a model.
pub type Authorize = dyn Fn(Arc<Model>) -> PendingAuthorization + Send + Sync;

/// The pending result of [`Authorize`].
pub type PendingAuthorization =
    Pin<Box<dyn Future<Output = Result<Authorization, AuthorizeError>> + Send>>;

/// The reason why a request has no credentials. Its text becomes the error of the answer.
pub type AuthorizeError = Box<dyn std::error::Error + Send + Sync>;

/// A provider of your own, or what to change about a built-in one.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
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

impl ProviderConfig {
    /// A provider with this id and nothing else.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }

    /// Sets the base URL.
    #[must_use]
    pub fn with_base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Sets the wire format.
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

    /// Adds a model.
    #[must_use]
    pub fn with_model(mut self, model: Model) -> Self {
        self.models.push(model);
        self
    }
}

/// There is no such model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
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
        Self {
            http: HttpClient::default(),
            env: Arc::new(env),
            custom: Arc::default(),
            authorize: None,
            redact: None,
        }
    }

    /// Asks `authorize` before every request that brings no key of its own, in place of looking
    /// for keys here. It runs when the stream is first polled, so it may take its time.
    #[must_use]
    pub fn with_authorization(
        mut self,
        authorize: impl Fn(Arc<Model>) -> PendingAuthorization + Send + Sync + 'static,
    ) -> Self {
        self.authorize = Some(Arc::new(authorize));
        self
    }

    /// Passes every error text through `redact` before it is reported: servers quote what they
    /// were sent, keys included.
    #[must_use]
    pub fn with_redaction(
        mut self,
        redact: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> Self {
        self.redact = Some(Arc::new(redact));
        self
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

    /// Sends a request to `model` and streams the answer.
    ///
    /// Nothing is sent before the stream is first polled. The stream can be cancelled at any time:
    /// with [`AssistantStream::cancel`], or, once it has moved to another task, with a token taken
    /// from [`AssistantStream::cancel_token`] before. Dropping the stream also ends the request.
    ///
    /// A program that already has a [`CancelToken`] for a larger piece of work passes it to
    /// [`Provider::stream`].
    pub fn stream(
        &self,
        model: &Arc<Model>,
        context: Context,
        options: StreamOptions,
    ) -> AssistantStream {
        let request = Request::new(Arc::clone(model), context, options);
        Provider::stream(self, request, CancelToken::new())
    }

    /// Sends a request to `model` and waits for the whole answer. Failures are in its
    /// `stop_reason`. To cancel, drop the future; to cancel and keep what had arrived, use
    /// [`Self::stream`] and [`AssistantStream::result`].
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

    /// Resolves what a request leaves open, except what it is allowed with.
    fn prepare(&self, request: Request) -> Result<(Call, &'static dyn WireFormat), String> {
        let model = self.completed((*request.model).clone());
        let format = wire::format(&model.api).ok_or_else(|| {
            format!("Provider {} has no API implementation for \"{}\"", model.provider, model.api)
        })?;
        let request = Request::new(Arc::new(model), request.context, request.options);
        Ok((Call::new(request, None, &*self.env), format))
    }

    /// What is known here about the key of a request.
    fn found(&self, call: &Call) -> Authorization {
        let options = &call.options;
        match self.credential(&call.model.provider, options.api_key.as_ref(), &options.env) {
            Credential::Key { key, scheme } => Authorization { scheme, ..Authorization::new(key) },
            Credential::NotNeeded => Authorization::new("unused"),
            Credential::Missing => Authorization::default(),
        }
    }

    /// The call as it is sent, if it is not to be asked for first.
    fn ready(&self, request: Request) -> Result<Ready, String> {
        let (call, format) = self.prepare(request)?;
        match &self.authorize {
            Some(authorize) if call.options.api_key.is_none() => {
                let pending = authorize(Arc::clone(&call.model));
                Ok(Ready { call, format, pending: Some(pending) })
            }
            _ => {
                let authorization = self.found(&call);
                let call = authorized(call, authorization, &*self.env)?;
                Ok(Ready { call, format, pending: None })
            }
        }
    }
}

/// A call, and what it still waits for.
struct Ready {
    call: Call,
    format: &'static dyn WireFormat,
    pending: Option<PendingAuthorization>,
}

/// The call with its key, its headers and its final address.
fn authorized(
    mut call: Call,
    authorization: Authorization,
    env: wire::EnvLookup<'_>,
) -> Result<Call, String> {
    let variable = |name: &str| {
        let given = call.options.env.get(name).or_else(|| authorization.env.get(name));
        given.cloned().or_else(|| env(name))
    };
    let mut model = credentials::place((*call.model).clone(), &variable)?;
    model.headers.extend(authorization.headers);
    let key = authorization.key.filter(|key| !key.expose_secret().is_empty());
    call.api_key = credentials::apply(&mut model, &call.options, key);
    call.key_scheme = authorization.scheme;
    call.model = Arc::new(model);
    Ok(call)
}

impl Provider for Client {
    fn stream(&self, request: Request, cancel: CancelToken) -> AssistantStream {
        let model = Arc::clone(&request.model);
        let Ready { call, format, pending } = match self.ready(request) {
            Ok(ready) => ready,
            Err(error) => {
                return AssistantStream::failed(&model, redacted(self.redact.as_ref(), error));
            }
        };
        let thinking_level = format.thinking_level(&call);
        let timeouts = call.options.timeouts.clone();
        let (http, env) = (self.http.clone(), Arc::clone(&self.env));
        let redact = self.redact.clone();
        let source = HttpSource::new(timeouts, async move {
            let call = match pending {
                Some(pending) => {
                    let authorization = pending.await.map_err(|error| error.to_string())?;
                    authorized(call, authorization, &*env)?
                }
                None => call,
            };
            exchange(&http, call, format, redact.as_ref()).await
        });
        let mut stream = match &self.redact {
            Some(redact) => AssistantStream::new(&model, Redacted::new(source, redact), cancel),
            None => AssistantStream::new(&model, source, cancel),
        };
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
    redact: Option<&RedactFn>,
) -> Result<Exchange, String> {
    let mut diagnostics = Vec::new();
    let model = Arc::clone(&call.model);
    let mut call = with_header_hook(call).await?;
    loop {
        let mut request = format.encode(&call).map_err(|error| with_hint(&call, &error))?;
        if let Some(hook) = &call.options.hooks.on_payload {
            let model = Arc::clone(&model);
            request.body = hooks::call("on_payload", || hook(request.body, model)).await?;
        }
        request.headers = call.headers(request.headers);
        let mut failure = match open(http, &request, &call.options).await {
            Ok(opened) => {
                return Ok(Exchange { opened, decoder: format.decoder(&call), diagnostics });
            }
            Err(failure) => failure,
        };
        // Before anything is cut off, which would leave half a key.
        if let Failure::Status(failure) | Failure::PauseTooLong { failure, .. } = &mut failure {
            failure.body = redacted(redact, std::mem::take(&mut failure.body));
        }
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

/// Lets the hook of the request change the headers that are added to those of the format. Comes
/// before encoding, since a header can take the place of a key.
async fn with_header_hook(mut call: Call) -> Result<Call, HookPanicked> {
    let Some(hook) = call.options.hooks.on_headers.clone() else { return Ok(call) };
    let (added, model) = (call.added_headers(), Arc::clone(&call.model));
    call.options.headers = hooks::call("on_headers", || hook(added, model)).await?;
    Arc::make_mut(&mut call.model).headers.clear();
    Ok(call)
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
