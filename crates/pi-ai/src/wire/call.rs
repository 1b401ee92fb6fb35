//! Everything an encoder may look at, resolved: no look-ups are left to do.

use std::sync::Arc;

use pi_protocol::{
    CacheRetention, HeaderChanges, Message, Model, Request, StreamOptions, ThinkingLevel,
};
use secrecy::{ExposeSecret, SecretString};

use crate::estimate;
use crate::wire::{EncodeError, identity};

/// A request with everything resolved that depends on the outside world.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Call {
    /// The model, its base URL final.
    pub model: Arc<Model>,
    /// The conversation; prompt and tools are in system messages.
    pub messages: Vec<Message>,
    /// The options as given.
    pub options: StreamOptions,
    /// The key, if one was found.
    pub api_key: Option<SecretString>,
    /// How long to cache.
    pub cache: CacheRetention,
    /// The way in which the key is sent.
    pub key_scheme: KeyScheme,
    /// Send preferred strict tools as ordinary ones; see [`super::WireFormat::fallback`].
    pub no_strict_tools: bool,
}

/// The way in which a key is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyScheme {
    /// In the header that the wire format uses for API keys.
    #[default]
    FormatDefault,
    /// As a bearer token in the `Authorization` header, whatever the wire format uses otherwise.
    Bearer,
}

/// Looks up an environment variable.
pub type EnvLookup<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Call {
    /// A call for `request` with this key. Variables are looked up in the request's own
    /// overrides first, then with `env`.
    pub fn new(request: Request, api_key: Option<SecretString>, env: EnvLookup<'_>) -> Self {
        let Request { model, context, options, .. } = request;
        let long = || {
            let name = "PI_CACHE_RETENTION";
            let value = options.env.get(name).cloned().or_else(|| env(name));
            value.is_some_and(|value| value == "long")
        };
        let cache = options
            .cache_retention
            .unwrap_or_else(|| if long() { CacheRetention::Long } else { CacheRetention::Short });
        Self {
            cache,
            messages: context.normalize(),
            api_key: api_key.filter(|key| !key.expose_secret().is_empty()),
            model,
            options,
            key_scheme: KeyScheme::default(),
            no_strict_tools: false,
        }
    }

    /// The level to think at, one that the model offers; `None` when thinking is off.
    pub fn thinking(&self) -> Option<ThinkingLevel> {
        self.options.thinking_for(&self.model)
    }

    /// The level as it was asked for; `None` when thinking is off. For a format whose words for
    /// the levels have their own defaults.
    pub fn requested_thinking(&self) -> Option<ThinkingLevel> {
        self.options.reasoning.filter(|level| *level != ThinkingLevel::Off)
    }

    /// The key in clear, or an error unless one of `instead` is among the user's headers.
    pub fn require_key(&self, instead: &[&str]) -> Result<Option<&str>, EncodeError> {
        match &self.api_key {
            Some(key) => Ok(Some(key.expose_secret())),
            None if instead.iter().any(|name| self.has_header(name)) => Ok(None),
            None => Err(EncodeError::MissingKey(self.model.provider.clone())),
        }
    }

    fn has_header(&self, name: &str) -> bool {
        let in_options = self
            .options
            .headers
            .iter()
            .any(|(key, value)| value.is_some() && key.eq_ignore_ascii_case(name));
        in_options || self.model.headers.keys().any(|key| key.eq_ignore_ascii_case(name))
    }

    /// The session id, unless nothing may tie requests together.
    pub fn session_id(&self) -> Option<&str> {
        self.options.session_id.as_deref().filter(|_| self.cache != CacheRetention::None)
    }

    /// The session id as a cache key: at most 64 characters.
    pub fn cache_key(&self) -> Option<String> {
        self.session_id().map(|id| id.chars().take(64).collect())
    }

    /// The headers to send: who we are, below the format's own, below the model's, below the
    /// user's.
    pub fn headers(&self, format_headers: Headers) -> Headers {
        let mut headers = Headers::new();
        identity::add_headers(self, &mut headers);
        for (name, value) in format_headers.0 {
            headers.set(name, value);
        }
        for (name, value) in self.added_headers() {
            match value {
                Some(value) => headers.set(name, value),
                None => headers.remove(&name),
            }
        }
        headers
    }

    /// The headers that model and options add to those of the format; `None` removes a header.
    pub fn added_headers(&self) -> HeaderChanges {
        let mut added = HeaderChanges::new();
        for (name, value) in &self.model.headers {
            added.insert(name.clone(), Some(value.clone()));
        }
        for (name, value) in &self.options.headers {
            added.retain(|other, _| !other.eq_ignore_ascii_case(name));
            added.insert(name.clone(), value.clone());
        }
        added
    }

    /// Output tokens to ask for: what was asked or the model allows, within what is left of the
    /// context window. `None` if nobody knows a limit.
    pub fn max_tokens(&self) -> Option<u64> {
        let known = Some(self.model.max_tokens).filter(|limit| *limit > 0);
        self.options.max_tokens.or(known).map(|wanted| self.fit_max_tokens(wanted))
    }

    /// `wanted`, within what is left of the context window.
    pub fn fit_max_tokens(&self, wanted: u64) -> u64 {
        estimate::fit_max_tokens(wanted, self.model.context_window, &self.messages)
    }
}

/// Header fields. Names are case-insensitive; setting one replaces it whatever its case.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// No headers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a header, replacing one of the same name.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        let name = name.into();
        self.remove(&name);
        self.0.push((name, value.into()));
    }

    /// Removes a header.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(key, _)| !key.eq_ignore_ascii_case(name));
    }

    /// The value of a header.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    /// All headers, in the order they were set.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl std::fmt::Debug for Headers {
    /// Names only: values may be credentials.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}
