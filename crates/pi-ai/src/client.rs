//! The client: resolves the provider, the key and the wire format of a request.
//!
//! Knows keys and endpoints, but neither formats (see `wire`) nor connections (see `http`).
//! Configuration files and logins are above this crate; they reach it as [`ProviderConfig`]s and
//! keys.

mod config;
mod credentials;

use std::collections::BTreeMap;
use std::sync::Arc;

use pi_protocol::{
    AssistantMessage, AssistantStream, CancelToken, Context, EnvOverrides, Model, Provider,
    Request, StreamOptions,
};
#[cfg(feature = "cloud")]
use pi_web::cloud::{self, CloudCache};
use pi_web::{Authorization, WebClient};
use secrecy::SecretString;

pub use config::{
    AuthorizationRequest, Authorize, AuthorizeError, FailedResponse, ModelError,
    PendingAuthorization, ProviderConfig,
};

use credentials::{Credential, Credentials, authorized};

use crate::hooks::{self, HookPanicked};
use crate::http::{
    Exchange, Failure, HttpClient, HttpSource, RedactFn, Redacted, Refused, redacted, send,
};
use crate::wire::{self, Call, HttpFailure, WireFormat};
use crate::{catalog, providers};

type Env = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// A client of the built-in providers and of added ones. Cheap to clone.
///
/// Nothing is read, resolved or connected before the first request.
#[derive(Clone)]
pub struct Client {
    http: HttpClient,
    env: Env,
    custom: Arc<BTreeMap<String, ProviderConfig>>,
    authorize: Option<Arc<Authorize>>,
    /// The credentials of clouds, if the client may look for them.
    #[cfg(feature = "cloud")]
    cloud: Option<CloudCache>,
    redact: Option<RedactFn>,
    on_failure: Option<OnFailure>,
}

/// Receives the responses of providers that are not 2xx.
type OnFailure = Arc<dyn Fn(FailedResponse) + Send + Sync>;

impl Client {
    /// Creates a client that reads keys from the process environment (`ANTHROPIC_API_KEY`, …), and
    /// looks for the credentials of clouds.
    pub fn from_env() -> Self {
        // The only place in this library that reads the environment, and only on request.
        #[allow(clippy::disallowed_methods)]
        let client = Self::new(|name| std::env::var(name).ok());
        #[cfg(feature = "cloud")]
        let client = client.with_cloud_credentials();
        client
    }

    /// Creates a client that looks up variables with `env`.
    pub fn new(env: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        let env: Env = Arc::new(env);
        Self {
            http: HttpClient::new(WebClient::new(Arc::clone(&env))),
            env,
            custom: Arc::default(),
            authorize: None,
            #[cfg(feature = "cloud")]
            cloud: None,
            redact: None,
            on_failure: None,
        }
    }

    /// Calls `authorize` for the credentials of every request without a key, instead of looking for
    /// a key in configuration and environment. The request waits for the result. If the provider
    /// rejects credentials that can be renewed, `authorize` is called once more, and the request is
    /// sent again with the result.
    #[must_use]
    pub fn with_authorization(
        mut self,
        authorize: impl Fn(AuthorizationRequest) -> PendingAuthorization + Send + Sync + 'static,
    ) -> Self {
        self.authorize = Some(Arc::new(authorize));
        self
    }

    /// Looks for credentials of the machine if a provider has no key: profiles and roles of AWS,
    /// Application Default Credentials of Google, and so on. See [`pi_web::cloud`]. Programs that
    /// supply credentials are not run.
    #[cfg(feature = "cloud")]
    #[must_use]
    pub fn with_cloud_credentials(mut self) -> Self {
        self.cloud = Some(CloudCache::new());
        self
    }

    /// Sends requests through this proxy, unless a variable of the environment (`HTTPS_PROXY`,
    /// `HTTP_PROXY`) has another one. Servers on this machine and those of `NO_PROXY` are connected
    /// to directly. An invalid URL fails the requests.
    #[must_use]
    pub fn with_proxy(mut self, url: Option<String>) -> Self {
        self.http.web.set_proxy(url);
        self
    }

    /// Returns a client for plain requests, with the connections and the proxy of this one.
    pub fn web(&self) -> WebClient {
        self.http.web.clone()
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

    /// Calls `observe` with every response that is not 2xx. The text of a failed answer has only a
    /// part of the body; this is the whole one, redacted.
    #[must_use]
    pub fn with_failures(
        mut self,
        observe: impl Fn(FailedResponse) + Send + Sync + 'static,
    ) -> Self {
        self.on_failure = Some(Arc::new(observe));
        self
    }

    /// Adds a provider or changes a built-in one.
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

    /// Finds a model: configured ones first, then the catalog.
    pub fn model(&self, provider: &str, id: &str) -> Result<Arc<Model>, ModelError> {
        let custom = self.custom.get(provider);
        let configured =
            custom.and_then(|config| config.models.iter().find(|model| model.id == id));
        if let Some(model) = configured.cloned().or_else(|| catalog::find(provider, id)) {
            return Ok(Arc::new(self.completed(model)));
        }
        Err(if custom.is_none() && providers::provider(provider).is_none() {
            ModelError::UnknownProvider(provider.to_owned())
        } else {
            ModelError::UnknownModel { provider: provider.to_owned(), id: id.to_owned() }
        })
    }

    /// Returns all models of a provider: configured ones, then the others of the catalog.
    pub fn models(&self, provider: &str) -> Vec<Model> {
        let custom = self.custom.get(provider);
        let configured = custom.map(|config| config.models.clone()).unwrap_or_default();
        let replaced: Vec<String> = configured.iter().map(|model| model.id.clone()).collect();
        configured
            .into_iter()
            .chain(catalog::models(provider).filter(|model| !replaced.contains(&model.id)))
            .map(|model| self.completed(model))
            .collect()
    }

    /// Returns the ids of all providers, built-in and added.
    pub fn providers(&self) -> Vec<String> {
        let built_in = providers::PROVIDERS.iter().map(|provider| provider.id.to_owned());
        let mut ids: Vec<String> = built_in.chain(self.custom.keys().cloned()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Returns true if there is a key for this provider, or if it needs none.
    pub fn is_configured(&self, provider: &str) -> bool {
        !matches!(self.credential(provider, None, &EnvOverrides::new()), Credential::Missing)
    }

    /// Sends a request to `model` and streams the answer.
    ///
    /// Nothing is sent before the stream is first polled. The stream can be cancelled at any time:
    /// with [`AssistantStream::cancel`], or, once it has moved to another task, with a token taken
    /// from [`AssistantStream::cancel_token`] before. Dropping the stream also ends the request.
    ///
    /// A program that already has a [`CancelToken`] for a larger task passes it to
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

    /// Completes a model record with the data of its provider.
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

    /// Resolves everything of a request except its credentials.
    fn prepare(&self, request: Request) -> Result<(Call, &'static WireFormat), String> {
        let model = self.completed((*request.model).clone());
        let format = wire::format(&model.api).ok_or_else(|| {
            format!("Provider {} has no API implementation for \"{}\"", model.provider, model.api)
        })?;
        let request = Request::new(Arc::new(model), request.context, request.options);
        Ok((Call::new(request, None, &*self.env), format))
    }

    /// Returns the credentials of a request from options, configuration and environment.
    fn own_credentials(&self, call: &Call) -> Credentials {
        let (options, provider) = (&call.options, &call.model.provider);
        let authorization = match self.credential(provider, options.api_key.as_ref(), &options.env)
        {
            Credential::Key { key, scheme } => Authorization::new(key).with_scheme(scheme),
            Credential::NotNeeded => Authorization::new("unused"),
            #[cfg(feature = "cloud")]
            Credential::Missing => match &self.cloud {
                Some(cache) if !cloud::sources(provider).is_empty() => {
                    let (cache, env) = (cache.clone(), Arc::clone(&self.env));
                    return Credentials::Cloud { cache, env, web: self.web() };
                }
                _ => Authorization::default(),
            },
            #[cfg(not(feature = "cloud"))]
            Credential::Missing => Authorization::default(),
        };
        Credentials::Known(Box::new(authorization))
    }

    /// Resolves a request, except for credentials that have to be awaited.
    fn ready(&self, request: Request) -> Result<Ready, String> {
        let (call, format) = self.prepare(request)?;
        let credentials = match &self.authorize {
            Some(authorize) if call.options.api_key.is_none() => {
                Credentials::Awaited(Arc::clone(authorize))
            }
            _ => self.own_credentials(&call),
        };
        Ok(Ready { call, format, credentials })
    }
}

/// A resolved call without its credentials.
struct Ready {
    call: Call,
    format: &'static WireFormat,
    credentials: Credentials,
}

impl Provider for Client {
    fn stream(&self, request: Request, cancel: CancelToken) -> AssistantStream {
        let model = Arc::clone(&request.model);
        let Ready { call, format, credentials } = match self.ready(request) {
            Ok(ready) => ready,
            Err(error) => {
                return AssistantStream::failed(&model, redacted(self.redact.as_ref(), error));
            }
        };
        let thinking_level = (format.thinking_level)(&call);
        let timeouts = call.options.timeouts.clone();
        let (http, env) = (self.http.clone(), Arc::clone(&self.env));
        let outlets = Outlets { redact: self.redact.clone(), on_failure: self.on_failure.clone() };
        let source = HttpSource::new(timeouts, async move {
            let authorization = credentials.get(&call, None).await?;
            let renewable = authorization.is_renewable.then(|| authorization.clone());
            let first = authorized(call.clone(), authorization, &env)?;
            let refused = match exchange(&http, first, format, &outlets).await {
                Ok(exchange) => return Ok(exchange),
                Err(refused) => refused,
            };
            match renewable {
                Some(rejected) if matches!(refused.status, Some(401 | 403)) => {
                    let authorization = credentials.get(&call, Some(rejected.clone())).await?;
                    // The reason of the refusal is another one than the age of the credentials.
                    if authorization.has_same_secret(&rejected) {
                        return Err(refused);
                    }
                    let second = authorized(call, authorization, &env)?;
                    exchange(&http, second, format, &outlets).await
                }
                _ => Err(refused),
            }
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

/// The places to which failures of a request go.
struct Outlets {
    redact: Option<RedactFn>,
    on_failure: Option<OnFailure>,
}

impl Outlets {
    fn report(&self, model: &Model, failure: &HttpFailure) {
        if let Some(observe) = &self.on_failure {
            let (provider, model) = (model.provider.clone(), model.id.clone());
            let (status, body) = (failure.status, failure.body.clone());
            observe(FailedResponse { provider, model, status, body });
        }
    }
}

/// Sends the call, and sends it again if the format has a fallback for the failure.
async fn exchange(
    http: &HttpClient,
    call: Call,
    format: &'static WireFormat,
    outlets: &Outlets,
) -> Result<Exchange, Refused> {
    let mut diagnostics = Vec::new();
    let model = Arc::clone(&call.model);
    let mut call = with_header_hook(call).await?;
    loop {
        let mut request = (format.encode)(&call).map_err(|error| with_hint(&call, &error))?;
        if let Some(hook) = &call.options.hooks.on_payload {
            let model = Arc::clone(&model);
            request.body = hooks::call("on_payload", || hook(request.body, model)).await?;
        }
        request.headers = (format.headers)(&call, request.headers);
        let mut failure = match send(http, &call, &request, format, &mut diagnostics).await {
            Ok(body) => {
                return Ok(Exchange { body, decoder: (format.decoder)(&call), diagnostics });
            }
            Err(failure) => failure,
        };
        // Redacted before texts are shortened, which could leave half a key.
        if let Failure::Status(failure) | Failure::PauseTooLong { failure, .. } = &mut failure {
            failure.body = redacted(outlets.redact.as_ref(), std::mem::take(&mut failure.body));
            outlets.report(&model, failure);
        }
        let Failure::Status(status) = &failure else {
            let text = failure_text(&call, format, &failure);
            return Err(Refused { text, status: None, diagnostics });
        };
        let fallback = (format.fallback)(&call, status);
        match fallback.or_else(|| wire::without_schema(&call, format, status)) {
            Some(fallback) => {
                diagnostics.push(fallback.diagnostic);
                call = fallback.call;
            }
            None => {
                diagnostics.extend((format.diagnostic)(status));
                let (status, text) = (status.status, failure_text(&call, format, &failure));
                return Err(Refused { text, status: Some(status), diagnostics });
            }
        }
    }
}

/// Applies the header hook of the request. Comes before encoding, since a header can replace a key.
async fn with_header_hook(mut call: Call) -> Result<Call, HookPanicked> {
    let Some(hook) = call.options.hooks.on_headers.clone() else { return Ok(call) };
    let (added, model) = (call.added_headers(), Arc::clone(&call.model));
    call.options.headers = hooks::call("on_headers", || hook(added, model)).await?;
    Arc::make_mut(&mut call.model).headers.clear();
    Ok(call)
}

fn failure_text(call: &Call, format: &WireFormat, failure: &Failure) -> String {
    let status_text = |failure: &HttpFailure| (format.error_text)(call, failure);
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

/// Adds a hint to the error of a missing key, which is the first error that new users meet.
fn with_hint(call: &Call, error: &wire::EncodeError) -> String {
    let wire::EncodeError::MissingKey(provider) = error else { return error.to_string() };
    match providers::provider(provider).and_then(|info| info.key_env.last()) {
        Some(name) => format!("{error}. Set {name}, or pass a key with the request."),
        None => format!("{error}. Pass a key with the request to {}.", call.model.base_url),
    }
}

pi_protocol::debug_fields!(Client, custom);
