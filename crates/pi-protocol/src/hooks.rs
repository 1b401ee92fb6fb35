//! Callbacks into one request.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;

use crate::{Model, RateLimits};

/// The pending result of a hook.
pub type HookFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Headers by name. `None` as a value removes a header that would be sent otherwise.
pub type HeaderChanges = BTreeMap<String, Option<String>>;

/// The type of [`RequestHooks::on_headers`].
pub type HeadersHook = dyn Fn(HeaderChanges, Arc<Model>) -> HookFuture<HeaderChanges> + Send + Sync;

/// The type of [`RequestHooks::on_payload`].
pub type PayloadHook = dyn Fn(Value, Arc<Model>) -> HookFuture<Value> + Send + Sync;

/// The type of [`RequestHooks::on_response`].
pub type ResponseHook = dyn Fn(HttpResponseInfo) -> HookFuture<()> + Send + Sync;

/// The type of [`RequestHooks::on_provider_event`].
pub type ProviderEventHook = dyn Fn(&str) + Send + Sync;

/// Callbacks into one request.
///
/// The asynchronous hooks are awaited in the order headers, payload, response, and the request
/// does not continue before they return. Cancelling the request drops a pending hook. A hook that
/// panics ends the stream with an error that names the hook.
///
/// ```
/// use pi_protocol::{RequestHooks, StreamOptions};
///
/// let mut options = StreamOptions::default();
/// options.hooks = RequestHooks::default()
///     .with_headers(|mut headers, _model| async move {
///         headers.insert("x-trace".to_owned(), Some("1".to_owned()));
///         headers
///     })
///     .with_payload(|mut body, model| async move {
///         body["metadata"] = serde_json::json!({ "model": model.id });
///         body
///     });
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct RequestHooks {
    /// Receives the headers that options, model and provider configuration add to those of the
    /// wire format, and returns the headers to add instead. Empty for a plain provider. Called
    /// once per request, before the body is encoded.
    pub on_headers: Option<Arc<HeadersHook>>,
    /// Receives the request body and returns the body to send. Called again if the request is
    /// repeated with another body; a retry sends the same one.
    pub on_payload: Option<Arc<PayloadHook>>,
    /// Receives status and headers of every response, failures and retries included.
    pub on_response: Option<Arc<ResponseHook>>,
    /// Receives every event of the provider as raw JSON text, before it is decoded. Called while
    /// the stream is polled, so it must not block; queue the text if work follows.
    pub on_provider_event: Option<Arc<ProviderEventHook>>,
}

impl RequestHooks {
    /// Sets [`Self::on_headers`] to an asynchronous function.
    #[must_use]
    pub fn with_headers<F>(
        mut self,
        hook: impl Fn(HeaderChanges, Arc<Model>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = HeaderChanges> + Send + 'static,
    {
        self.on_headers = Some(Arc::new(move |headers, model| Box::pin(hook(headers, model))));
        self
    }

    /// Sets [`Self::on_payload`] to an asynchronous function.
    #[must_use]
    pub fn with_payload<F>(
        mut self,
        hook: impl Fn(Value, Arc<Model>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Value> + Send + 'static,
    {
        self.on_payload = Some(Arc::new(move |body, model| Box::pin(hook(body, model))));
        self
    }

    /// Sets [`Self::on_response`] to an asynchronous function.
    #[must_use]
    pub fn with_response<F>(
        mut self,
        hook: impl Fn(HttpResponseInfo) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.on_response = Some(Arc::new(move |response| Box::pin(hook(response))));
        self
    }

    /// Sets [`Self::on_provider_event`] to a function.
    #[must_use]
    pub fn with_provider_event(mut self, hook: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.on_provider_event = Some(Arc::new(hook));
        self
    }
}

impl fmt::Debug for RequestHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestHooks")
            .field("on_headers", &self.on_headers.is_some())
            .field("on_payload", &self.on_payload.is_some())
            .field("on_response", &self.on_response.is_some())
            .field("on_provider_event", &self.on_provider_event.is_some())
            .finish()
    }
}

/// Status and headers of a response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpResponseInfo {
    /// The HTTP status code.
    pub status: u16,
    /// The header fields in the order of arrival.
    pub headers: Vec<HttpHeader>,
    /// The limits that the headers report; `None` if they report none.
    pub rate_limits: Option<RateLimits>,
}

/// A header field of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpHeader {
    /// The name, in lower case.
    pub name: String,
    /// The value; bytes that are not UTF-8 are replaced.
    pub value: String,
}

impl HttpResponseInfo {
    /// Creates a response with this status and these headers.
    pub fn new(status: u16, headers: Vec<HttpHeader>) -> Self {
        Self { status, headers, rate_limits: None }
    }

    /// Sets the limits that the headers report.
    #[must_use]
    pub fn with_rate_limits(mut self, limits: RateLimits) -> Self {
        self.rate_limits = Some(limits).filter(|limits| !limits.is_empty());
        self
    }

    /// Returns the first value of a header. The case of `name` does not matter.
    pub fn header(&self, name: &str) -> Option<&str> {
        let field = self.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
        Some(&field.value)
    }
}
