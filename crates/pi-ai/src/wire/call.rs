//! The input of an encoder, with everything resolved.

use std::sync::Arc;

use pi_protocol::{
    CacheRetention, HeaderChanges, Message, Model, Request, StreamOptions, ThinkingLevel,
};
use pi_web::aws::AwsKeys;
use pi_web::{KeyScheme, Variables};
use secrecy::{ExposeSecret, SecretString};

use crate::estimate;
use crate::wire::{EncodeError, identity};

/// A request with key, base URL and environment resolved.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Call {
    /// The model, with its final base URL.
    pub model: Arc<Model>,
    /// The conversation; prompt and tools are in system messages.
    pub messages: Vec<Message>,
    /// The options of the request.
    pub options: StreamOptions,
    /// The key, if one was found.
    pub api_key: Option<SecretString>,
    /// The keys that sign the request, for formats that are signed.
    pub aws: Option<AwsKeys>,
    /// The variables that a format may read: those of the request, then of the credential, then of
    /// the process.
    pub variables: Variables,
    /// Requested lifetime of the cached prompt.
    pub cache: CacheRetention,
    /// The way in which the key is sent.
    pub key_scheme: KeyScheme,
    /// Sends tools that prefer strict schemas as ordinary tools; see
    /// [`super::WireFormat::fallback`].
    pub no_strict_tools: bool,
}

/// Length of the longest cache key.
pub(super) const MAX_CACHE_KEY: usize = 64;

/// Looks up an environment variable.
pub type EnvLookup<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Call {
    /// Creates a call for `request` with this key. Variables are looked up in the overrides of the
    /// request first, then with `env`.
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
            aws: None,
            variables: Variables::default().overridden_by(options.env.clone()),
            model,
            options,
            key_scheme: KeyScheme::default(),
            no_strict_tools: false,
        }
    }

    /// Returns the thinking level, clamped to the levels of the model; `None` if thinking is off.
    pub fn thinking(&self) -> Option<ThinkingLevel> {
        self.options.thinking_for(&self.model)
    }

    /// Returns the requested thinking level; `None` if thinking is off. For formats that map every
    /// level to a value of their own.
    pub fn requested_thinking(&self) -> Option<ThinkingLevel> {
        self.options.reasoning.filter(|level| *level != ThinkingLevel::Off)
    }

    /// Returns the key. Without a key, fails unless one of the headers `instead` is set.
    pub fn require_key(&self, instead: &[&str]) -> Result<Option<&str>, EncodeError> {
        match &self.api_key {
            Some(key) => Ok(Some(key.expose_secret())),
            None if instead.iter().any(|name| self.has_header(name)) => Ok(None),
            None => Err(EncodeError::MissingKey(self.model.provider.clone())),
        }
    }

    /// Returns true if model or options set this header.
    pub(super) fn has_header(&self, name: &str) -> bool {
        let in_options = self
            .options
            .headers
            .iter()
            .any(|(key, value)| value.is_some() && key.eq_ignore_ascii_case(name));
        in_options || self.model.headers.keys().any(|key| key.eq_ignore_ascii_case(name))
    }

    /// Returns the session id, unless caching is off and requests must not be linked to each other.
    pub fn session_id(&self) -> Option<&str> {
        match self.cache {
            CacheRetention::None => None,
            CacheRetention::Short | CacheRetention::Long => self.options.session_id.as_deref(),
        }
    }

    /// Returns the session id for a header; `None` if it is not valid there. The caller chooses the
    /// id.
    pub fn session_header(&self) -> Option<&str> {
        self.session_id().filter(|id| id.bytes().all(|byte| (b' '..=b'~').contains(&byte)))
    }

    /// Returns the session id as a cache key of at most 64 characters.
    pub fn cache_key(&self) -> Option<String> {
        self.session_id().map(|id| id.chars().take(MAX_CACHE_KEY).collect())
    }

    /// Returns the headers to send. Those of the identity are overridden by those of the format,
    /// then of the model, then of the options.
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

    /// Returns the headers that model and options add to those of the format; `None` removes a
    /// header.
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

    /// Returns the output tokens to request: those of the options or of the model, limited to the
    /// free part of the context window. `None` if neither is known.
    pub fn max_tokens(&self) -> Option<u64> {
        let requested = match (self.options.max_tokens, self.model.max_tokens) {
            (Some(requested), _) => requested,
            (None, 0) => return None,
            (None, of_model) => of_model,
        };
        Some(self.fit_max_tokens(requested))
    }

    /// Limits `requested` to the free part of the context window.
    pub fn fit_max_tokens(&self, requested: u64) -> u64 {
        estimate::fit_max_tokens(requested, self.model.context_window, &self.messages)
    }
}

/// Header fields with case-insensitive names.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// Creates an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a header and replaces one of the same name.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        let name = name.into();
        self.remove(&name);
        self.0.push((name, value.into()));
    }

    /// Removes a header if it is set.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(key, _)| !key.eq_ignore_ascii_case(name));
    }

    /// Keeps the headers whose names `keep` accepts.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.0.retain(|(name, _)| keep(name));
    }

    /// Returns the value of a header.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    /// Iterates over all headers in the order in which they were set.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl std::fmt::Debug for Headers {
    /// Prints names only, since values may be credentials.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}
