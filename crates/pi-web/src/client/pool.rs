//! The connection pool, built for the first request.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use http::{HeaderMap, Method, StatusCode};
use pi_base::lock;
use reqwest::Proxy;
use reqwest::redirect::{Attempt, Policy};

use super::proxy::Route;
use super::response::Response;
use super::{WebError, WebErrorKind};

/// A client for HTTP. Clones share their connections. Nothing is set up before the first request.
#[derive(Clone)]
pub struct WebClient {
    /// By the settings that belong to a pool, not to a request. In practice there is one.
    pools: Arc<Mutex<HashMap<PoolKey, reqwest::Client>>>,
    env: Arc<dyn Fn(&str) -> Option<String> + Send + Sync>,
    proxy: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct PoolKey {
    kind: PoolKind,
    /// False for plain HTTP, which must also work without installed certificates.
    tls: bool,
    route: Route,
}

/// The properties of a pool that a request chooses.
#[derive(Clone, PartialEq, Eq, Hash)]
struct PoolKind {
    connect: Option<Duration>,
    /// False if the caller handles redirects itself.
    follows: bool,
    /// True for requests that upgrade their connection, which HTTP/2 cannot.
    upgrades: bool,
}

/// The connections for requests to a server.
#[derive(Debug)]
pub struct Pool {
    client: reqwest::Client,
    proxy: Option<String>,
}

impl Pool {
    /// Returns the proxy of the pool, for error texts.
    pub fn proxy(&self) -> Option<&str> {
        self.proxy.as_deref()
    }

    /// Sends a request and waits for the head of its response.
    pub async fn send(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: Option<Bytes>,
    ) -> Result<Response, WebError> {
        let request = self.client.request(method, url).headers(headers);
        finish(match body {
            Some(body) => request.body(body),
            None => request,
        })
        .await
    }

    /// Sends a request whose body has no known length.
    pub(super) async fn send_stream(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static,
    ) -> Result<Response, WebError> {
        let body = reqwest::Body::wrap_stream(body);
        finish(self.client.request(method, url).headers(headers).body(body)).await
    }
}

async fn finish(request: reqwest::RequestBuilder) -> Result<Response, WebError> {
    match request.send().await {
        Ok(response) => Ok(Response::new(response)),
        Err(error) => Err(WebError::of(&error)),
    }
}

impl WebClient {
    /// Creates a client that looks up the variables of a proxy with `env`.
    pub fn new(env: Arc<dyn Fn(&str) -> Option<String> + Send + Sync>) -> Self {
        Self { pools: Arc::default(), env, proxy: None }
    }

    /// Sets the proxy for requests without a proxy from the environment.
    pub fn set_proxy(&mut self, proxy: Option<String>) {
        self.proxy = proxy;
    }

    /// Returns the pool for requests to `url`, which follows redirects that stay at the origin. The
    /// error text includes a hint.
    pub fn pool(&self, url: &str, connect: Option<Duration>) -> Result<Pool, WebError> {
        self.pool_for(url, PoolKind { connect, follows: true, upgrades: false })
    }

    /// Returns a pool whose responses to `url` may be redirects.
    pub(super) fn pool_without_redirects(&self, url: &str) -> Result<Pool, WebError> {
        self.pool_for(url, PoolKind { connect: None, follows: false, upgrades: false })
    }

    /// Returns a pool for requests to `url` that upgrade their connection.
    pub fn upgradable_pool(&self, url: &str, connect: Option<Duration>) -> Result<Pool, WebError> {
        self.pool_for(url, PoolKind { connect, follows: false, upgrades: true })
    }

    fn pool_for(&self, url: &str, kind: PoolKind) -> Result<Pool, WebError> {
        let key = PoolKey {
            kind,
            tls: !url.starts_with("http://"),
            route: Route::to(url, self.proxy.as_deref(), &*self.env),
        };
        let proxy = key.route.proxy_name().map(str::to_owned);
        let mut pools = lock(&self.pools);
        if let Some(client) = pools.get(&key) {
            return Ok(Pool { client: client.clone(), proxy });
        }
        let client =
            build(&key).map_err(|problem| WebError::new(WebErrorKind::Request, problem))?;
        pools.insert(key, client.clone());
        Ok(Pool { client, proxy })
    }
}

pi_protocol::debug_fields!(WebClient);

fn build(key: &PoolKey) -> Result<reqwest::Client, String> {
    // Fails only if a provider is already installed, by this crate or by the application.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .redirect(if key.kind.follows {
            Policy::custom(follow_same_origin)
        } else {
            Policy::none()
        })
        // Small deltas must not wait for a full packet.
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(30))
        .pool_idle_timeout(Duration::from_secs(90));
    if !key.tls {
        builder = builder.tls_certs_only([]);
    }
    match &key.route {
        Route::System => {}
        Route::Direct => builder = builder.no_proxy(),
        Route::Proxy(url) => builder = builder.no_proxy().proxy(proxy(url)?),
    }
    if key.kind.upgrades {
        builder = builder.http1_only();
    }
    if let Some(connect) = key.kind.connect {
        builder = builder.connect_timeout(connect);
    }
    builder.build().map_err(|error| {
        let cause = super::cause(&error);
        format!(
            "Could not set up TLS: {cause}. Install the CA certificates of the system \
             (often the package ca-certificates), or set SSL_CERT_FILE."
        )
    })
}

/// Parses the URL of a proxy. The URL may have a password, so the error does not quote it.
fn proxy(url: &str) -> Result<Proxy, &'static str> {
    let scheme = url.split_once("://").map_or("http", |(scheme, _)| scheme);
    if !matches!(scheme, "http" | "https") {
        return Err("The configured proxy is not supported: expected http://HOST:PORT.");
    }
    Proxy::all(url).map_err(|_| {
        "The configured proxy is not a valid URL: expected http://HOST:PORT. The proxy comes from \
         HTTPS_PROXY, HTTP_PROXY or the settings."
    })
}

/// Follows a redirect that keeps the method and stays at the origin. Keys are in headers that an
/// HTTP client does not treat as secret (`x-api-key`, `x-goog-api-key`), so every other redirect is
/// returned as the response and becomes an error.
fn follow_same_origin(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let keeps_method =
        matches!(attempt.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    let same_origin =
        attempt.previous().last().is_some_and(|from| from.origin() == attempt.url().origin());
    if keeps_method && same_origin && attempt.previous().len() < 5 {
        attempt.follow()
    } else {
        attempt.stop()
    }
}
